"""Put what `ocpfast reproduce` left into docs/reproduction and the README: python docs/publish.py FOLDER."""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def block(report: str) -> str:
    """The README's part: the command, and of each experiment the claims and the figure."""
    [command] = re.findall(r"^`(ocpfast reproduce .*)`$", report, re.MULTILINE)
    sections, _ = report.split("## To repeat it")
    summary, *experiments = sections.split("\n## ")
    shown = "\n### ".join([summary.split("\n", 1)[1].strip() + "\n", *(text.strip() + "\n" for text in experiments)])
    return f"Made by `{command}`: {shown.replace('](', '](docs/reproduction/')}"


if __name__ == "__main__":
    folder, target = Path(sys.argv[1]), ROOT / "docs" / "reproduction"
    for name in ("report.md", "chain.png", "pendulum.png"):
        shutil.copyfile(folder / name, target / name)
    readme = ROOT / "README.md"
    before, rest = readme.read_text().split("<!-- claims -->\n")
    after = rest.split("<!-- end of claims -->\n")[1]
    made = block((target / "report.md").read_text())
    readme.write_text(f"{before}<!-- claims -->\n{made}<!-- end of claims -->\n{after}")
