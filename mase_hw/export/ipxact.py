"""An IP-XACT component (IEEE 1685-2014): ports, AXI4-Stream bus interfaces where there are some, files."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from mase_hw.emit.axis import AxisPort
from mase_hw.export.block import LIBRARY, VENDOR, VERSION, Block, Port
from mase_hw.export.constraints import clock_period

NAMESPACE = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"
SCHEMA = f"{NAMESPACE} {NAMESPACE}/index.xsd"
INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
# Arm's names of its bus and of the abstraction in wires
BUS = {"vendor": "amba.com", "library": "AMBA4", "name": "AXI4Stream", "version": "r0p0_1"}
ABSTRACTION = {**BUS, "name": "AXI4Stream_rtl"}


def ipxact_component(block: Block, megahertz: float) -> dict[str, bytes]:
    """File name to content: the component and its sources."""
    ElementTree.register_namespace("ipxact", NAMESPACE)
    ElementTree.register_namespace("xsi", INSTANCE)
    root = ElementTree.Element(_name("component"), {f"{{{INSTANCE}}}schemaLocation": SCHEMA})
    for tag, text in (("vendor", VENDOR), ("library", LIBRARY), ("name", block.top), ("version", VERSION)):
        _add(root, tag, text)
    if block.axis is not None:
        interfaces = _add(root, "busInterfaces")
        for port in block.axis.inputs:
            _bus_interface(interfaces, block, port, "slave")
        for port in block.axis.outputs:
            _bus_interface(interfaces, block, port, "master")
    _model(root, block, megahertz)
    files = _add(_add(root, "fileSets"), "fileSet")
    _add(files, "name", "rtl")
    for name, modern in block.sources:
        file = _add(files, "file")
        _add(file, "name", name)
        _add(file, "fileType", "systemVerilogSource" if modern else "verilogSource-2001")
    _add(root, "description", block.about)
    ElementTree.indent(root)
    xml: bytes = ElementTree.tostring(root, encoding="UTF-8", xml_declaration=True)
    return {f"{block.top}.xml": xml + b"\n"} | block.contents()


def _bus_interface(parent: ElementTree.Element, block: Block, port: AxisPort, mode: str) -> None:
    """One AXI4-Stream with its wires; clock and reset are ports of it as well, shared by all."""
    interface = _add(parent, "busInterface")
    _add(interface, "name", port.prefix)
    _add(interface, "busType", **BUS)
    kind = _add(_add(interface, "abstractionTypes"), "abstractionType")
    _add(kind, "abstractionRef", **ABSTRACTION)
    maps = _add(kind, "portMaps")
    wires = {f"T{name}": f"{port.prefix}_t{name.lower()}" for name in ("DATA", "VALID", "READY", "LAST")}
    for logical, physical in {"ACLK": block.clock, "ARESETn": block.reset, **wires}.items():
        entry = _add(maps, "portMap")
        _add(_add(entry, "logicalPort"), "name", logical)
        _add(_add(entry, "physicalPort"), "name", physical)
    _add(interface, mode)


def _model(root: ElementTree.Element, block: Block, megahertz: float) -> None:
    model = _add(root, "model")
    view = _add(_add(model, "views"), "view")
    _add(view, "name", "rtl")
    _add(view, "envIdentifier", ":*Synthesis:")
    _add(view, "componentInstantiationRef", "rtl")
    made = _add(_add(model, "instantiations"), "componentInstantiation")
    _add(made, "name", "rtl")
    _add(made, "language", "systemVerilog" if block.axis is None else "verilog")
    _add(made, "moduleName", block.top)
    _add(_add(made, "fileSetRef"), "localName", "rtl")
    ports = _add(model, "ports")
    for port in block.ports:
        _port(ports, port, clock_period(megahertz) if port.name == block.clock else None)


def _port(parent: ElementTree.Element, port: Port, period: str | None) -> None:
    element = _add(parent, "port")
    _add(element, "name", port.name)
    wire = _add(element, "wire")
    _add(wire, "direction", port.direction)
    if port.width > 1:
        vector = _add(_add(wire, "vectors"), "vector")
        _add(vector, "left", str(port.width - 1))
        _add(vector, "right", "0")
    if period is not None:
        half = f"{float(period) / 2:.4f}"
        driver = _add(_add(_add(wire, "drivers"), "driver"), "clockDriver")
        for tag, text in (("clockPeriod", period), ("clockPulseOffset", half), ("clockPulseValue", "1")):
            _add(driver, tag, text)
        _add(driver, "clockPulseDuration", half)


def _add(parent: ElementTree.Element, tag: str, text: str | None = None, **attributes: str) -> ElementTree.Element:
    element = ElementTree.SubElement(parent, _name(tag), attributes)
    element.text = text
    return element


def _name(tag: str) -> str:
    return f"{{{NAMESPACE}}}{tag}"
