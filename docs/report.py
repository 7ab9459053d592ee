"""The README's picture of a report: ``python docs/report.py`` (needs Chromium and selenium)."""

import shutil
import tempfile
from pathlib import Path

from selenium import webdriver
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from covey import FlockClassifier

WIDTH, HEIGHT = 1180, 1900


def main():
    data = load_breast_cancer(as_frame=True)
    labels = data.target.map(dict(enumerate(data.target_names)))
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, labels, stratify=labels, random_state=0
    )
    flock = FlockClassifier(random_state=0).fit(X_train, y_train)
    page = flock.report(X_test, y_test, target="diagnosis")
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(argument)
    options.add_argument(f"--window-size={WIDTH},{HEIGHT}")
    with tempfile.TemporaryDirectory() as folder:
        page.save(Path(folder) / "report.html")
        driver = webdriver.ChromeService(shutil.which("chromedriver"))
        browser = webdriver.Chrome(options=options, service=driver)
        try:
            browser.get((Path(folder) / "report.html").as_uri())
            # The picture has no room for these sections.
            browser.execute_script(
                "for (const key of ['asked', 'health', 'features'])"
                " document.getElementById(key).remove();"
            )
            browser.save_screenshot(str(Path(__file__).with_suffix(".png")))
        finally:
            browser.quit()


if __name__ == "__main__":
    main()
