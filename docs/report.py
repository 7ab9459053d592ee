"""The README's picture of a report: ``python docs/report.py`` (needs Chromium and selenium)."""

import base64
import shutil
import tempfile
from pathlib import Path

from selenium import webdriver
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from covey import FlockClassifier

WIDTH = 1180


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
    with tempfile.TemporaryDirectory() as folder:
        page.save(Path(folder) / "report.html")
        driver = webdriver.ChromeService(shutil.which("chromedriver"))
        browser = webdriver.Chrome(options=options, service=driver)
        try:
            browser.set_window_size(WIDTH, 900)
            browser.get((Path(folder) / "report.html").as_uri())
            # All that comes before the fold, and the fold.
            fold = browser.find_element("id", "experts")
            clip = {"x": 0, "y": 0, "width": WIDTH, "height": fold.location["y"] + 70, "scale": 1}
            shot = browser.execute_cdp_cmd(
                "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
            )
            Path(__file__).with_suffix(".png").write_bytes(base64.b64decode(shot["data"]))
        finally:
            browser.quit()


if __name__ == "__main__":
    main()
