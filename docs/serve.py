"""The picture of a served page: ``python docs/serve.py`` (needs Chromium and selenium)."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait
from sklearn.datasets import load_breast_cancer

WIDTH, HEIGHT = 1180, 1560
COVEY = [sys.executable, "-m", "covey"]
# A tumour that is not easy, and the question what would change the answer.
ACT = """
const set = (name, value) => {
  const labels = [...document.querySelectorAll("form label")];
  const label = labels.find((one) => one.textContent === name);
  const control = document.getElementById(label.htmlFor);
  control.value = value;
  control.dispatchEvent(new Event("input", {bubbles: true}));
};
for (const [name, value] of Object.entries(arguments[0])) set(name, value);
"""


def main():
    data = load_breast_cancer(as_frame=True)
    table = data.data.assign(diagnosis=data.target.map(dict(enumerate(data.target_names))))
    row = data.data.iloc[[81]].round(4).to_dict("records")[0]
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(argument)
    with tempfile.TemporaryDirectory() as folder:
        table.to_csv(f"{folder}/tumours.csv", index=False)
        fit = [*COVEY, "fit", "tumours.csv", "--target", "diagnosis", "--model", "m.covey"]
        subprocess.run(fit, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        server = subprocess.Popen(
            [*COVEY, "serve", "m.covey", "--port", "0"],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        browser = webdriver.Chrome(
            options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
        )

        def until(script):
            WebDriverWait(browser, 60, 0.1).until(lambda _: browser.execute_script(script))

        try:
            browser.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False},
            )
            line = server.stderr.readline()
            browser.get("http" + line.partition("http")[2].partition(" ")[0])
            until("return document.querySelector('#verdict .what')")
            browser.execute_script(ACT, row)
            until("return document.querySelector('#why li')")
            browser.find_element("css selector", "#pin").click()
            browser.find_element("css selector", "#find").click()
            until("return document.querySelector('#smallest button, #smallest .trouble')")
            browser.execute_script("window.scrollTo(0, 0); document.activeElement.blur()")
            browser.save_screenshot(str(Path(__file__).with_suffix(".png")))
        finally:
            browser.quit()
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
