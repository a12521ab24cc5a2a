"""Why something of a kernel is not known, or may not change, as data: nothing here is in words (``rules.cause_words``).

What reading a kernel leaves open is one list, ``Kernel.limits``. The kind of each cause says what is open then
(``Cause.opens``); every kind has a place in that table, and one that has none opens nothing."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, Flag, auto

from smem_lsp.ir.places import Row
from smem_lsp.source import record


class Opens(Flag):
    """What is not known of a kernel."""

    NOTHING = 0
    TEXT = auto()  # a statement, declaration, barrier or access is not parsed, or only by a guess
    FLOW = auto()  # the order in which statements run
    ARRAYS = auto()  # there may be shared arrays of functions that are not in sight
    BYTES = auto()  # the bytes that ptxas reports may be others than those declared
    ACCESSES = auto()  # shared memory may be touched where nobody sees it
    ANYTHING = auto()  # a macro, say: it may do more than a function could
    DECLARED = (
        auto()
    )  # the same where a declaration could stand: what ends with its block may do anything there
    CALLS = auto()  # a function was called that is not followed
    ASSUMED = auto()  # something is taken for granted
    UNDECLARED = auto()  # a value that nothing in sight declares: a macro that may read anything


class CauseKind(Enum):
    """Kinds of causes, with what ``Cause.names`` are; ``of``: what another cause tells."""

    # ---- text that is not understood
    UNREAD_STATEMENT = auto()
    UNREAD_STATEMENT_OF = auto()  # the function
    UNREAD_DECLARATION = auto()
    UNREAD_ASSEMBLER = auto()
    UNREAD_LAMBDA = auto()  # that is called
    UNREAD_EXPRESSION = auto()  # of: PACK_EXPANSION or STATEMENT_EXPRESSION
    UNREAD_BRACKETS = auto()  # the function
    UNREAD_PARAMETERS = auto()  # the function
    UNREAD_MACRO = auto()  # the function that names it
    # ---- control flow
    ASSEMBLER_JUMPS = auto()
    BARRIER_AGAIN = auto()
    LABEL = auto()  # the label
    NESTED_CASE = auto()
    TRY = auto()
    UNREAD_JUMP = auto()
    TWO_READINGS = auto()
    UNREAD_LOOP = auto()
    CONTINUE = auto()
    GOTO = auto()
    GOTO_LOOP = auto()  # the label
    BARE_SWITCH = auto()
    MACRO_DECLARES = auto()  # the macro
    MACRO_OPENS = auto()  # the macro
    POINTER_CIRCLE = auto()
    INCLUDED = auto()
    BRACKETS = auto()
    STRAY_JUMP = auto()  # `break`, say
    LOOP_DEPTH = auto()  # the limit
    DEPTH = auto()  # the limit
    STOPPED = auto()  # the analysis of the kernel was
    # ---- shared arrays, and the bytes of all
    OTHER_COMPILER = auto()
    MACRO_SIZE = auto()
    COLLECTIVE_ARRAY = auto()  # the collective
    OVERLOAD = auto()  # the function
    HEADER = auto()
    HEADER_FUNCTION = auto()  # the function
    UNDECLARED_MEMORY = auto()  # its name
    OUT_OF_SIGHT = auto()  # the function
    TEMPLATE_ARGUMENTS = auto()  # the function
    LAMBDA_INSTANCE = auto()  # the function that it stands in
    OUTSIDE_FUNCTIONS = auto()  # the array
    OWN_ARRAYS = auto()  # the function
    ORDER = auto()
    COLLECTIVE_UNUSED = auto()  # the buffer, as in the following ones
    POINTERS_KEPT = auto()
    NEVER_WRITTEN = auto()
    UNSEPARATED = auto()
    ONE_ELEMENT = auto()
    ONE_VALUE = auto()
    CONSTANT_PLACES = auto()
    OWN_ELEMENT = auto()
    UNUSED_RESULT = auto()
    MEASURED = auto()  # the bytes that nvcc reports, those that are known
    # ---- accesses
    NOT_FOLLOWED = auto()  # of: a function
    CLASS_NOT_FOLLOWED = auto()  # of: a class, whose destructor may run wherever it is
    REACHES = auto()  # the class, or a function
    ESCAPES = auto()  # the buffer; of: how
    NAMED = auto()  # of: where
    WHICH_INSTANCE = auto()  # the function
    WHICH_OVERRIDES = auto()  # the virtual function
    METHOD = auto()  # the function, of an object in shared memory
    BY_REFERENCE = auto()  # the buffer, the function
    BASE_PLACE = auto()  # the base, the class
    BULK_ADDRESS = auto()
    INSTRUCTION_ADDRESS = auto()  # the instruction
    COPY_ADDRESS = auto()
    UNKNOWN_MACRO = auto()  # the macro
    # ---- macros
    MACRO = auto()  # the macro
    MACRO_TYPE = auto()  # the macro
    MEMORY_OUT_OF_SIGHT = auto()  # its name
    # ---- what is taken for granted
    PASSED_OVER = auto()
    IS_CONSTANT = auto()  # the name
    IS_INTEGER = auto()  # the type
    IS_NUMBER = auto()  # the expression
    LEAVES = auto()  # the function, the variable
    TOUCHES_ONLY = auto()  # the function
    UNDECLARED = auto()  # the name
    # ---- why a buffer keeps its bytes: its name comes first
    DYNAMIC = auto()
    INITIALIZED = auto()
    OWNED = auto()  # the function
    OF_CALLER = auto()
    ADDRESS_KEPT = auto()
    BARRIER_MADE = auto()
    BARRIER_USED = auto()
    MBARRIER = auto()
    LENT_TO_GROUPS = auto()
    BOUND_TO_COPY = auto()
    COPY_IN_FLIGHT = auto()
    BULK_COPY_READS = auto()
    MATRICES_READ = auto()  # the instruction
    USED_BY_INSTRUCTION = auto()  # the instruction
    PIPELINE_STATE = auto()
    UNKNOWN_TYPE = auto()
    UNKNOWN_MEMBER = auto()
    CALLED_ON = auto()  # the method
    PASSED = auto()  # the function
    BOUND_NAMES = auto()
    CONSTRUCTED = auto()
    NOT_ACCESSED = auto()
    NAMED_AT = auto()  # of: where
    ESCAPES_AT = auto()  # of: how
    # ---- why no reference can stand for a buffer
    NOT_CAPTURED = auto()
    COPIED_BY_LAMBDA = auto()
    # ---- functions and classes that are not followed
    CALL = auto()  # what is called
    CALL_OPERATOR = auto()  # of what
    OPERATOR = auto()  # the operator
    WHICH_OPERATOR = auto()  # its symbol
    ARRAY_COPY = auto()  # the class of an element
    PERHAPS_COPIED = auto()  # the class
    CONVERSION = auto()  # the class
    CONVERTED = auto()  # the expression
    CONSTRUCTOR = auto()  # the class
    DESTRUCTOR = auto()  # the class
    CLASS_COPY = auto()  # the class
    ASSIGNMENT = auto()  # the class
    MEMBER_VALUE = auto()  # the member, the class
    RETURNS_REFERENCE = auto()  # the function
    BEGIN = auto()
    BEGIN_OF = auto()  # the class
    TEMPORARY_LIFETIME = auto()  # the class
    TEMPORARY_ARRAY = auto()  # the class of an element
    BOUND_LIFETIME = auto()  # the member
    GOTO_ENDS = auto()  # the class
    LOCAL_CLASS = auto()
    DEDUCED_CLASS = auto()  # the variable
    RETURNED_LAMBDA = auto()
    LAMBDA_MEMORY = auto()
    LAMBDA_DEFAULT = auto()
    COPY_OF_THIS = auto()
    COPY_OF_REFERENT = auto()  # the reference
    BOUND_PARTS = auto()  # the class
    CHOSEN_PLACE = auto()
    CHOSEN_OBJECT = auto()  # the class
    NEW = auto()
    DELETE = auto()
    # ---- how an address escapes
    ASSEMBLER_OPERAND = auto()
    INSTRUCTION_OPERAND = auto()  # the instruction
    STORED_BY_ASSEMBLER = auto()
    ATOMIC_ARGUMENT = auto()
    ARGUMENT = auto()  # the function
    BOUND = auto()  # the reference
    HELD = auto()  # the variable
    WITH_OBJECT = auto()
    PERHAPS_ARRAY = auto()
    CONVERTED_AWAY = auto()
    AS_VALUE = auto()
    AS_NUMBER = auto()
    POINTER_TO_IT = auto()
    STORED = auto()
    BY_OPERATOR = auto()
    USED_BY = auto()  # the function
    # ---- where a buffer is named that nothing is known of
    IN_UNREAD_STATEMENT = auto()
    IN_TWO_READINGS = auto()
    IN_LOCAL_CLASS = auto()
    IN_DEFAULT_ARGUMENT = auto()
    IN_INITIALIZER = auto()
    CAPTURED_RENAMED = auto()
    CAPTURED = auto()  # of: why the lambda is not followed
    IN_EXPRESSION = auto()  # of: PACK_EXPANSION or STATEMENT_EXPRESSION
    PACK_EXPANSION = auto()
    STATEMENT_EXPRESSION = auto()
    NOT_INLINED = auto()
    PASSED_ON = auto()  # the lambda
    LAMBDA_PASSED_ON = auto()
    RESULT_BOUND = auto()
    # ---- why the ranges of dynamic shared memory are not known
    UNUSED = auto()
    HELPER_USES = auto()  # the function
    CALL_SHARES = auto()
    CALL_PERHAPS_SHARES = auto()  # of: why it may
    UNSEEN = auto()  # the buffer
    ACCESS = auto()  # the pointer, "read", "write" or "update"
    ASYNCHRONOUS_ACCESS = auto()  # the same
    BEGINS_BEFORE = auto()  # the buffer, bytes; of: ACCESS or ASYNCHRONOUS_ACCESS, as in the following ones
    LENGTH = auto()
    LAYOUT = auto()  # the member
    LAYOUT_OF_ELEMENTS = auto()
    TYPE_SIZE = auto()
    START = auto()
    EXTENT = auto()  # of, beside the access: what nothing bounds
    MAY_PASS = auto()  # where something begins: its name
    BYTES = auto()  # the buffer
    ACCESS_START = auto()  # the buffer
    SEVERAL_PLACES = auto()  # the pointer
    POINTER_START = auto()  # the pointer
    SEVERAL_POINTERS = auto()  # the pointers
    PART_EXTENT = auto()  # what is accessed, a pointer to a part of it
    LEAVES_RANGE = auto()  # the range
    WHICH_FIRST = auto()  # two pointers
    BEFORE_ARRAY = auto()  # the pointer
    LANDINGS = auto()  # how many, how many at most
    LANDINGS_OF_BOTH = auto()
    # ---- what nothing bounds
    PARAMETER = auto()  # its name
    LOOP_VARIABLE = auto()  # its name
    LOADED = auto()
    CALLED = auto()
    BEHIND_LOOP = auto()
    UNSET = auto()
    VALUE = auto()  # another one
    RESULT = auto()  # the operator


@record(deep=True)
class Cause:
    """``line``: where it stands; ``names``: as ``kind`` says; ``of``: what more there is to tell."""

    kind: CauseKind
    line: Row | None = None
    names: tuple[str, ...] = ()
    of: tuple[Cause, ...] = ()

    def about(self, name: str) -> Cause:
        """The same of a buffer of this name, which comes first among the names."""
        return replace(self, names=(name, *self.names[1:]))

    @property
    def opens(self) -> Opens:
        """What is not known because of it."""
        return _OPENS.get(self.kind, Opens.NOTHING)


_BYTES_OF_ALL = Opens.BYTES | Opens.ARRAYS
_OPENS: dict[CauseKind, Opens] = {
    **dict.fromkeys(
        (
            CauseKind.UNREAD_STATEMENT,
            CauseKind.UNREAD_DECLARATION,
            CauseKind.UNREAD_ASSEMBLER,
            CauseKind.UNREAD_LAMBDA,
            CauseKind.UNREAD_EXPRESSION,
        ),
        Opens.TEXT | Opens.BYTES,
    ),
    **dict.fromkeys(
        (
            CauseKind.UNREAD_STATEMENT_OF,
            CauseKind.UNREAD_BRACKETS,
            CauseKind.UNREAD_PARAMETERS,
            CauseKind.UNREAD_MACRO,
        ),
        Opens.TEXT,
    ),
    **dict.fromkeys(
        (
            CauseKind.ASSEMBLER_JUMPS,
            CauseKind.BARRIER_AGAIN,
            CauseKind.LABEL,
            CauseKind.NESTED_CASE,
            CauseKind.TRY,
            CauseKind.UNREAD_JUMP,
            CauseKind.TWO_READINGS,
            CauseKind.UNREAD_LOOP,
            CauseKind.CONTINUE,
            CauseKind.GOTO,
            CauseKind.GOTO_LOOP,
            CauseKind.BARE_SWITCH,
            CauseKind.MACRO_DECLARES,
            CauseKind.MACRO_OPENS,
            CauseKind.POINTER_CIRCLE,
            CauseKind.INCLUDED,
            CauseKind.BRACKETS,
            CauseKind.STRAY_JUMP,
        ),
        Opens.FLOW | Opens.BYTES,
    ),
    **dict.fromkeys((CauseKind.LOOP_DEPTH, CauseKind.DEPTH, CauseKind.STOPPED), Opens.FLOW),
    **dict.fromkeys(
        (
            CauseKind.MACRO_SIZE,
            CauseKind.COLLECTIVE_ARRAY,
            CauseKind.OVERLOAD,
            CauseKind.HEADER,
            CauseKind.HEADER_FUNCTION,
            CauseKind.UNDECLARED_MEMORY,
            CauseKind.OUT_OF_SIGHT,
            CauseKind.TEMPLATE_ARGUMENTS,
        ),
        _BYTES_OF_ALL,
    ),
    CauseKind.LAMBDA_INSTANCE: _BYTES_OF_ALL | Opens.ACCESSES,
    **dict.fromkeys(
        (
            CauseKind.OTHER_COMPILER,
            CauseKind.OUTSIDE_FUNCTIONS,
            CauseKind.OWN_ARRAYS,
            CauseKind.ORDER,
            CauseKind.COLLECTIVE_UNUSED,
            CauseKind.POINTERS_KEPT,
            CauseKind.NEVER_WRITTEN,
            CauseKind.UNSEPARATED,
            CauseKind.ONE_ELEMENT,
            CauseKind.ONE_VALUE,
            CauseKind.CONSTANT_PLACES,
            CauseKind.OWN_ELEMENT,
            CauseKind.UNUSED_RESULT,
            CauseKind.MEASURED,
        ),
        Opens.BYTES,
    ),
    **dict.fromkeys(
        (
            CauseKind.NOT_FOLLOWED,
            CauseKind.REACHES,
            CauseKind.ESCAPES,
            CauseKind.NAMED,
            CauseKind.WHICH_INSTANCE,
            CauseKind.WHICH_OVERRIDES,
            CauseKind.METHOD,
            CauseKind.BY_REFERENCE,
            CauseKind.BASE_PLACE,
            CauseKind.BULK_ADDRESS,
            CauseKind.INSTRUCTION_ADDRESS,
            CauseKind.COPY_ADDRESS,
            CauseKind.UNKNOWN_MACRO,
        ),
        Opens.ACCESSES,
    ),
    CauseKind.CLASS_NOT_FOLLOWED: Opens.ACCESSES | Opens.DECLARED,
    CauseKind.MACRO: Opens.ANYTHING,
    CauseKind.MEMORY_OUT_OF_SIGHT: Opens.ANYTHING,
    CauseKind.MACRO_TYPE: Opens.ANYTHING | Opens.DECLARED,
    CauseKind.PASSED_OVER: Opens.CALLS,
    **dict.fromkeys(
        (
            CauseKind.IS_CONSTANT,
            CauseKind.IS_INTEGER,
            CauseKind.IS_NUMBER,
            CauseKind.LEAVES,
            CauseKind.TOUCHES_ONLY,
        ),
        Opens.ASSUMED,
    ),
    CauseKind.UNDECLARED: Opens.ASSUMED | Opens.UNDECLARED,
}
