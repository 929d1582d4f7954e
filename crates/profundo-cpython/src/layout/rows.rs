//! The table: each row is the row before, with the changes of that minor version.

use super::objects::FunctionObject;
use super::{
    Attributes, Chain, CodeObject, Collecting, EvaluationLoop, GeneratorObject, Gil,
    InterpreterFrame, KeysTable, Layout, Objects, References, Thread, ThreadList, ThreadState,
    VariableNames, WideText,
};
use super::{collector, profiler};

pub(super) const ROWS: [Layout; 8] = [
    PYTHON_3_8,
    PYTHON_3_9,
    PYTHON_3_10,
    PYTHON_3_11,
    PYTHON_3_12,
    PYTHON_3_13,
    PYTHON_3_14,
    PYTHON_3_15,
];

/// Of the thread's `pthread_self` in a thread state, up to 3.10.
const THREAD: u16 = 176;

const PYTHON_3_8: Layout = Layout {
    minor: 8,
    chain: Chain::FrameObjects { frame: 24, unit: 1 },
    gil: Gil::Runtime { holder: 1368 },
    collecting: Collecting::Runtime(544),
    collector: Some(collector::PYTHON_3_8),
    threads: ThreadList {
        interpreters: 32,
        next_interpreter: 0,
        states: 8,
        next_state: 8,
        thread: Thread::Pointer(THREAD),
        modules: 56,
    },
    state: ThreadState {
        thread: THREAD,
        interpreter: 16,
        is_thread_local: false,
    },
    evaluation: EvaluationLoop {
        entry_bytes: 0,
        is_one_function: true,
    },
    frame: InterpreterFrame {
        previous: 24,
        code: 32,
        function: 0,
        instruction: 104,
        globals: 48,
        namespace: 56,
        locals: 360,
        owner: 0,
    },
    code: CodeObject {
        variable_names: VariableNames::Several([72, 88, 80]),
        arguments: 16,
        flags: 36,
        first_line: 40,
        file: 104,
        name: 112,
        bare_name: None,
        lines: 120,
        instructions: 48,
        copies: None,
        first_traceable: None,
        frame_size: 0,
        stack_size: 0,
    },
    objects: Objects {
        attributes: Attributes::Dictionary,
        keys: KeysTable::Slots,
        tuple_items: 24,
        module_name: 48,
        class_name: 864,
        shared_keys: 0,
        longer_head: 0,
        references: References::Plain,
        dict_before: 24,
        width_bit: 2,
        frame_of_object: None,
        generator: None,
        function: FunctionObject {
            code: 16,
            name: 64,
            qualified_name: 104,
        },
        ascii_head: 48,
        text_head: 72,
        wide_text: Some(WideText {
            characters: 40,
            length: 64,
        }),
        has_tagged_integers: false,
        has_numbered_tasks: false,
    },
    profiler: Some(&profiler::PYTHON_3_8),
};

const PYTHON_3_9: Layout = Layout {
    minor: 9,
    gil: Gil::Runtime { holder: 568 },
    collecting: Collecting::Interpreter(816),
    threads: ThreadList {
        modules: 856,
        ..PYTHON_3_8.threads
    },
    objects: Objects {
        class_name: 856,
        ..PYTHON_3_8.objects
    },
    profiler: Some(&profiler::PYTHON_3_9),
    ..PYTHON_3_8
};

const PYTHON_3_10: Layout = Layout {
    minor: 10,
    chain: Chain::FrameObjects { frame: 24, unit: 2 },
    frame: InterpreterFrame {
        instruction: 96,
        locals: 352,
        ..PYTHON_3_9.frame
    },
    objects: Objects {
        class_name: 864,
        function: FunctionObject {
            code: 48,
            name: 32,
            qualified_name: 40,
        },
        ..PYTHON_3_9.objects
    },
    profiler: Some(&profiler::PYTHON_3_10),
    ..PYTHON_3_9
};

/// Of the number of variables in a code object, in 3.11.
const VARIABLES_3_11: u16 = 76;

const PYTHON_3_11: Layout = Layout {
    minor: 11,
    chain: Chain::Marked {
        record: profiler::RECORD_3_11,
        frame: 8,
        previous: 16,
        is_entry: 68,
    },
    gil: Gil::Runtime { holder: 576 },
    collecting: Collecting::Interpreter(848),
    collector: Some(collector::PYTHON_3_8),
    threads: ThreadList {
        interpreters: 40,
        states: 16,
        thread: Thread::Number(160),
        modules: 888,
        ..PYTHON_3_10.threads
    },
    state: ThreadState {
        thread: 152,
        ..PYTHON_3_10.state
    },
    evaluation: EvaluationLoop {
        entry_bytes: 0x70,
        ..PYTHON_3_10.evaluation
    },
    frame: InterpreterFrame {
        previous: 48,
        code: 32,
        function: 0,
        instruction: 56,
        globals: 8,
        namespace: 24,
        locals: 72,
        owner: 69,
    },
    code: CodeObject {
        variable_names: VariableNames::One {
            count: VARIABLES_3_11,
            names: 96,
            kinds: 104,
        },
        arguments: 56,
        flags: 48,
        first_line: 72,
        file: 112,
        name: 128,
        bare_name: Some(120),
        lines: 136,
        instructions: 184,
        frame_size: VARIABLES_3_11,
        stack_size: 68,
        ..PYTHON_3_10.code
    },
    objects: Objects {
        attributes: Attributes::Values,
        keys: KeysTable::Bytes,
        class_name: 864,
        shared_keys: 872,
        frame_of_object: Some(24),
        generator: Some(GeneratorObject {
            frame: 80,
            state: 75,
            ended: 1,
        }),
        ..PYTHON_3_10.objects
    },
    profiler: Some(&profiler::PYTHON_3_11),
};

const PYTHON_3_12: Layout = Layout {
    minor: 12,
    chain: Chain::Shims {
        record: 56,
        frame: 0,
        previous: 8,
    },
    gil: Gil::Interpreter { lock: 384 },
    collecting: Collecting::Interpreter(312),
    collector: Some(collector::PYTHON_3_8),
    threads: ThreadList {
        states: 72,
        thread: Thread::Number(144),
        modules: 944,
        ..PYTHON_3_11.threads
    },
    state: ThreadState {
        thread: 0,
        ..PYTHON_3_11.state
    },
    evaluation: EvaluationLoop {
        entry_bytes: 0xAE,
        ..PYTHON_3_11.evaluation
    },
    frame: InterpreterFrame {
        previous: 8,
        code: 0,
        function: 16,
        globals: 24,
        namespace: 40,
        owner: 70,
        ..PYTHON_3_11.frame
    },
    code: CodeObject {
        variable_names: VariableNames::One {
            count: 72,
            names: 96,
            kinds: 104,
        },
        arguments: 52,
        first_line: 68,
        instructions: 192,
        first_traceable: Some(16),
        frame_size: 76,
        stack_size: 0,
        ..PYTHON_3_11.code
    },
    objects: Objects {
        attributes: Attributes::Tagged,
        class_name: 872,
        shared_keys: 880,
        references: References::Immortal,
        generator: Some(GeneratorObject {
            frame: 72,
            state: 67,
            ended: 1,
        }),
        ascii_head: 40,
        text_head: 56,
        wide_text: None,
        has_tagged_integers: true,
        has_numbered_tasks: true,
        ..PYTHON_3_11.objects
    },
    profiler: None,
};

/// This version and later ones list their offsets themselves, as in `debug_offsets.rs`.
const PYTHON_3_13: Layout = Layout {
    minor: 13,
    chain: Chain::Direct { frame: 72 },
    gil: Gil::Interpreter { lock: 16 },
    collecting: Collecting::Interpreter(7600),
    threads: ThreadList {
        interpreters: 632,
        next_interpreter: 7264,
        states: 7344,
        thread: Thread::Number(160),
        modules: 7656,
        ..PYTHON_3_12.threads
    },
    evaluation: EvaluationLoop {
        entry_bytes: 0,
        ..PYTHON_3_12.evaluation
    },
    code: CodeObject {
        instructions: 200,
        ..PYTHON_3_12.code
    },
    objects: Objects {
        attributes: Attributes::Inline,
        ..PYTHON_3_12.objects
    },
    ..PYTHON_3_12
};

const PYTHON_3_14: Layout = Layout {
    minor: 14,
    collecting: Collecting::Interpreter(7600),
    collector: Some(collector::PYTHON_3_14),
    threads: ThreadList {
        interpreters: 808,
        next_interpreter: 7272,
        modules: 7688,
        ..PYTHON_3_13.threads
    },
    state: ThreadState {
        is_thread_local: true,
        ..PYTHON_3_13.state
    },
    evaluation: EvaluationLoop {
        is_one_function: false,
        ..PYTHON_3_13.evaluation
    },
    frame: InterpreterFrame {
        locals: 80,
        owner: 74,
        ..PYTHON_3_13.frame
    },
    code: CodeObject {
        instructions: 208,
        ..PYTHON_3_13.code
    },
    objects: Objects {
        tuple_items: 32,
        ..PYTHON_3_13.objects
    },
    ..PYTHON_3_13
};

const PYTHON_3_15: Layout = Layout {
    minor: 15,
    collecting: Collecting::Interpreter(7512),
    collector: Some(collector::PYTHON_3_15),
    threads: ThreadList {
        interpreters: 936,
        next_interpreter: 7264,
        states: 7336,
        thread: Thread::Number(184),
        modules: 7592,
        ..PYTHON_3_14.threads
    },
    objects: Objects {
        module_name: 40,
        class_name: 880,
        shared_keys: 888,
        generator: Some(GeneratorObject {
            frame: 72,
            state: 67,
            ended: 5,
        }),
        ..PYTHON_3_14.objects
    },
    ..PYTHON_3_14
};
