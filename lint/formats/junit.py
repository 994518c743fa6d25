"""For test reports: one case per job, failed by its errors and warnings."""

from collections.abc import Sequence

from ...dsl.diagnostics import one_line, render
from ..judging import Judged
from .summary import jobs, summary


def junit(judged: Sequence[Judged]) -> str:
    from xml.etree import ElementTree  # takes as long to load as many rules do

    read = jobs(judged)
    failing = [[found for found in each.findings if found.severity != "info"] for each in read]
    suite = ElementTree.Element(
        "testsuite",
        name="parc lint",
        tests=str(len(read)),
        failures=str(sum(bool(found) for found in failing)),
    )
    for each, found in zip(read, failing, strict=True):
        name = one_line(each.path)
        case = ElementTree.SubElement(suite, "testcase", classname=str(each.config.kind), name=name)
        if found:
            message = "; ".join(f"{one.code} {one.diagnostic.message}" for one in found)
            failure = ElementTree.SubElement(case, "failure", message=one_line(message))
            failure.text = "\n\n".join(render(one.diagnostic) for one in found)
    ElementTree.SubElement(suite, "system-out").text = one_line(summary(judged))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)
