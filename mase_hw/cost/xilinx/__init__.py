"""Costs on a Xilinx UltraScale+, as Yosys maps to it: LUTs of six inputs beside carry chains of four bits a cell."""
