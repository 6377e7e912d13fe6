"""The one list: all of SystemVerilog that emitted files may use. What is not named here is refused.

A file is read in three ways, and each has its part of the list. `text.py` reads bytes, comments and words. `tree.py`
reads the syntax tree, in which each kind of node has the kinds that it may stand in. `meaning.py` reads the elaborated
design. Names of kinds and of diagnostics are slang's. A test shows that the generated designs use every entry.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Text. A line is in printable ASCII and ends with a line feed.
MAX_FILE = 16 << 20  # bytes
MAX_ALL = 64 << 20  # bytes of all files together
MAX_STATEMENTS = 400_000  # semicolons in all files
MAX_LINE = 2048  # columns
MAX_DEPTH = 128  # brackets, blocks and operators on the way from a statement to its innermost operand
MAX_WIDTH = 1 << 20  # a number in the text that has no size: a width, a count, an index
MAX_NAME = 200  # characters of an identifier
# Elaborated.
MAX_LEVELS = 6  # of modules that hold one another
MAX_SYMBOLS = 400_000  # names in all instances
MAX_INSTANCES = 4096  # of modules, besides one for each semicolon
MAX_VECTOR = 1 << 16  # bits of one signal, or of one row of a memory or a table
MAX_BITS = 1 << 22  # of all signals
MAX_MEMORY = 1 << 26  # bits of all memories and tables
MAX_WORK = 1 << 28  # bits that all expressions compute, a product of two numbers one for each pair of their bits

# Words that slang takes for keywords, by the ending of the file.
KEYWORDS = {
    ".sv": _words("""
    always_comb always_ff assert assign automatic begin bit case default disable else end endcase endfunction
    endmodule for function genvar if iff input int localparam logic longint module output parameter posedge
    property return signed typedef unsigned
"""),
    ".v": _words("""
    always assign begin else end endgenerate endmodule for generate genvar if input module output parameter
    posedge reg wire
"""),
}
# All other words that are no identifiers, and marks. Numbers and strings have their patterns in text.py.
MARKS = _words("""
    ( ) [ ] { } '{ '( (* *) ; , . : ? @ # = <= == != < > >= && || ! ~ & | ^ + - * << >> <<< ++ += +: |=>
""")
# System functions and tasks, and the kind of node that calls them.
SYSTEM = {
    "$clog2": "SystemName",
    "$error": "SystemName",  # of an assertion that fails
    "$fatal": "ElabSystemTask",  # at elaboration, within a generate `if`: a bad parameter
    "$signed": "SystemName",
    "$stable": "SystemName",  # of an assertion
}
# A comment runs to the end of its line. Its first word must be none by which a tool takes it for an order, and none of
# its words may look like a switch.
COMMENT = r"//[ -\[\]-~]*"  # a backslash is not in it
ORDERS = _words("""
    altera ambit cadence exemplar leda pragma psl quartus rtl_synthesis slang spyglass sva synopsys synplify
    synthesis tessent vcs verific verilator vivado xilinx
""")
SWITCH = r"(?i)(?:translate|synthesis|lint|coverage|tracing|public|protect|pragma)_?(?:on|off|begin|end|save|restore)\b"

# Attributes of declarations, and the values that they may have; "" is none.
ATTRIBUTES = {
    "keep": frozenset({""}),
    "ram_style": frozenset({'"block"', '"distributed"'}),
    "rom_style": frozenset({'"block"'}),
    "use_dsp": frozenset({'"yes"'}),
}
ROM = "rom_style"  # a declaration with this attribute is a table, and has its constants as its initial value

# Operators, operands and casts: each may stand wherever an expression may. Two places are no such: a constant without
# a size, and the argument of a parameter. There the width depends on what is around, and readers disagree about it.
OPERANDS = _words("""
    IdentifierName IdentifierSelectName IntegerLiteralExpression IntegerVectorExpression InvocationExpression
""")
OPERATORS = _words("""
    AddExpression ArithmeticShiftLeftExpression BinaryAndExpression BinaryOrExpression BinaryXorExpression
    CastExpression ConcatenationExpression ConditionalExpression EqualityExpression GreaterThanEqualExpression
    GreaterThanExpression InequalityExpression LessThanEqualExpression LessThanExpression LogicalAndExpression
    LogicalOrExpression LogicalShiftLeftExpression LogicalShiftRightExpression MultipleConcatenationExpression
    MultiplyExpression ParenthesizedExpression SignedCastExpression SubtractExpression UnaryBitwiseAndExpression
    UnaryBitwiseNotExpression UnaryBitwiseOrExpression UnaryBitwiseXorExpression UnaryLogicalNotExpression
    UnaryMinusExpression
""")
EXPRESSION_PLACES = _words("""
    AddAssignmentExpression AscendingRangeSelect AssignmentExpression BitSelect CaseStatement ConditionalPattern
    DisableIff EqualsValueClause IfGenerate LoopGenerate NonblockingAssignmentExpression PostincrementExpression
    ReturnStatement SimpleAssignmentPattern SimpleRangeSelect SimpleSequenceExpr StandardCaseItem SignalEventExpression
""")
# Every other kind, and what it may stand in. The second table adds what .v files have.
_PLACES = """
ActionBlock: AssertPropertyStatement
AddAssignmentExpression: LoopGenerate
AlwaysCombBlock: ModuleDeclaration
AlwaysFFBlock: GenerateBlock ModuleDeclaration
AnsiPortList: ModuleHeader
ArgumentList: ElabSystemTask InvocationExpression
AscendingRangeSelect: ElementSelect
AssertPropertyStatement: ConcurrentAssertionMember
AssignmentExpression: ContinuousAssign ExpressionStatement
AssignmentPatternExpression: EqualsValueClause
AttributeInstance: DataDeclaration
AttributeSpec: AttributeInstance
BitSelect: ElementSelect RangeDimensionSpecifier
BitType: ParameterDeclaration
CaseStatement: FunctionDeclaration
ConcurrentAssertionMember: ModuleDeclaration
ConditionalPattern: ConditionalPredicate
ConditionalPredicate: ConditionalExpression ConditionalStatement
ConditionalStatement: ElseClause SequentialBlockStatement
ContinuousAssign: GenerateBlock ModuleDeclaration
DataDeclaration: FunctionDeclaration GenerateBlock ModuleDeclaration
Declarator: DataDeclaration FunctionPort ImplicitAnsiPort ParameterDeclaration
DefaultCaseItem: CaseStatement
DisableIff: PropertySpec
ElabSystemTask: GenerateBlock
ElementSelect: IdentifierSelectName
ElseClause: ActionBlock ConditionalStatement IfGenerate
EqualsValueClause: AttributeSpec Declarator
EventControlWithExpression: PropertySpec TimingControlStatement
ExpressionStatement: ConditionalStatement ElseClause FunctionDeclaration SequentialBlockStatement
ExpressionStatement: DefaultCaseItem StandardCaseItem
FunctionDeclaration: ModuleDeclaration
FunctionPort: FunctionPortList
FunctionPortList: FunctionPrototype
FunctionPrototype: FunctionDeclaration
GenerateBlock: ElseClause IfGenerate LoopGenerate
HierarchicalInstance: HierarchyInstantiation
HierarchyInstantiation: GenerateBlock ModuleDeclaration
IdentifierName: FunctionPrototype InvocationExpression NamedParamAssignment NamedType
IdentifierSelectName: NamedType
IfGenerate: ElseClause GenerateBlock ModuleDeclaration
ImplicationPropertyExpr: PropertySpec
ImplicitAnsiPort: AnsiPortList
InstanceName: HierarchicalInstance
IntType: ParameterDeclaration
IntegerLiteralExpression: NamedParamAssignment
IntegerVectorExpression: NamedParamAssignment
InvocationExpression: ExpressionStatement
LogicType: DataDeclaration FunctionPort FunctionPrototype ParameterDeclaration TypedefDeclaration VariablePortHeader
LongIntType: CastExpression ParameterDeclaration
LoopGenerate: ModuleDeclaration
ModuleDeclaration: CompilationUnit
ModuleHeader: ModuleDeclaration
NamedBlockClause: GenerateBlock
NamedLabel: AssertPropertyStatement
NamedParamAssignment: ParameterValueAssignment
NamedPortConnection: HierarchicalInstance
NamedType: DataDeclaration ParameterDeclaration
NonblockingAssignmentExpression: ExpressionStatement
OrderedArgument: ArgumentList
ParameterDeclaration: ParameterDeclarationStatement ParameterPortList
ParameterDeclarationStatement: ModuleDeclaration
ParameterPortList: ModuleHeader
ParameterValueAssignment: HierarchyInstantiation
ParenthesizedEventExpression: EventControlWithExpression
PostincrementExpression: LoopGenerate
PropertySpec: AssertPropertyStatement
RangeDimensionSpecifier: VariableDimension
ReturnStatement: FunctionDeclaration
SequentialBlockStatement: AlwaysCombBlock ConditionalStatement ElseClause TimingControlStatement
SignalEventExpression: ParenthesizedEventExpression
SimpleAssignmentPattern: AssignmentPatternExpression
SimplePropertyExpr: ImplicationPropertyExpr NamedPortConnection OrderedArgument
SimpleRangeSelect: ElementSelect RangeDimensionSpecifier
SimpleSequenceExpr: SimplePropertyExpr
StandardCaseItem: CaseStatement
StringLiteralExpression: EqualsValueClause SimpleSequenceExpr
SystemName: InvocationExpression
TimingControlStatement: AlwaysFFBlock
TypedefDeclaration: ModuleDeclaration
UnaryMinusExpression: NamedParamAssignment
UnbasedUnsizedLiteralExpression: AssignmentExpression ConditionalExpression EqualityExpression InequalityExpression
UnbasedUnsizedLiteralExpression: NonblockingAssignmentExpression
VariableDimension: Declarator LogicType
VariablePortHeader: ImplicitAnsiPort
"""
_VERILOG_PLACES = """
AlwaysBlock: ModuleDeclaration
AssignmentExpression: LoopGenerate
Declarator: NetDeclaration
GenerateRegion: ModuleDeclaration
GenvarDeclaration: ModuleDeclaration
IdentifierName: GenvarDeclaration
ImplicitType: NetDeclaration NetPortHeader ParameterDeclaration
LoopGenerate: GenerateRegion
NetDeclaration: ModuleDeclaration
NetPortHeader: ImplicitAnsiPort
RegType: DataDeclaration VariablePortHeader
TimingControlStatement: AlwaysBlock
VariableDimension: ImplicitType RegType
"""


def _table(*texts: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in "".join(texts).split("\n"):
        kind, _, places = line.partition(":")
        if kind:
            found[kind] = found.get(kind, frozenset()) | frozenset(places.split())
    for kind in OPERANDS | OPERATORS:
        found[kind] = found.get(kind, frozenset()) | OPERATORS | EXPRESSION_PLACES
    return found


PLACES = {".sv": _table(_PLACES), ".v": _table(_PLACES, _VERILOG_PLACES)}
# The edge that registers move with, and the modules that have another name for their clock.
CLOCKS = {".sv": "@(posedge clk)", ".v": "@(posedge aclk)"}

# The checks of streams are left out of the hardware: a parameter brings them in, instances of one module alone.
CHECKS, CHECKER = "CheckStreams", "mase_stream_check"
# Modules of test benches; a design must not bring its own.
BENCH = _words("""
    mase_harness mase_axis_harness mase_stream_probe mase_stream_sink mase_stream_source mase_stream_stall
""")

# What slang may say of an elaborated design. Everything else that it says is a refusal: an error, a bit with two
# drivers, a latch, a name that is not declared, an index out of range, a width that changes without a cast.
DIAGNOSTICS = _words("""
    ArithOpMismatch BitwiseOpMismatch PackedArrayConv SignConversion UselessCast
""")
