// The JSON of reports. Made by `npm run build` from docs/json.md: do not edit.

export interface Document {
  profundo: Header;
  recording: Recording;
  selection: Selection;
}

export interface Header {
  schema: number;
  report: string;
}

export interface Recording {
  command: string | null;
  query?: Query;
  measures: string;
  event?: string;
  engine: string;
  period_seconds: number | null;
  started_unix_seconds: number | null;
  duration_seconds: number | null;
  cpu_seconds: number | null;
  cpu_kernel_seconds: number | null;
  cpu_kernel_is_rough: boolean;
  cpu_sampled_seconds: number | null;
  cpu_kernel_sampled_seconds: number | null;
  cpu_sampled_share: number | null;
  cpu_missing: CpuMissing | null;
  missing: Missing[];
  of_machine?: boolean;
  processes: number;
  threads: number;
  samples: number;
  samples_counted: number;
  samples_expected: number | null;
  samples_lost: number;
  stacks_truncated: number;
  stacks_broken: number;
  own_cost_share: number | null;
  own_cost_is_least: boolean;
  recorder_cpu_seconds: number | null;
  by_ticks_seconds: number | null;
  energy: Energy | null;
  buffer_was_full: boolean;
  warnings: string[];
  notes: string[];
  merged?: Merged[];
  cells?: Cell[];
}

export interface Query {
  text: string;
  title: string;
  rest: string;
  counted: string[];
}

export interface Cell {
  file: string;
  name: string;
}

export interface Merged {
  name: string;
  file: string | null;
  labels: Label[];
  begins_seconds: number;
  duration_seconds: number | null;
  started_unix_seconds: number | null;
  period_seconds: number | null;
}

export interface Label {
  key: string;
  value: string;
}

export interface CpuMissing {
  seconds: number;
  share: number;
  causes: MissingCause[];
}

export interface MissingCause {
  cause: string;
  seconds: number;
  share: number;
}

export interface Missing {
  of: string;
  amount: number;
  share: number;
  causes: MissingPart[];
}

export interface MissingPart {
  cause: string;
  amount: number;
  share: number;
}

export interface Energy {
  joules: number;
  seconds: number;
  program_share: number | null;
  program_joules: number | null;
  joules_per_cpu_second: number | null;
  machine_cpu_seconds: number;
  program_cpu_seconds: number;
  zones: Zone[];
}

export interface Zone {
  name: string;
  joules: number;
  counted: boolean;
}

export interface Selection {
  filter: string | null;
  samples: number;
  seconds?: number;
  events?: number;
  bytes?: number;
  blocks?: number;
  copies?: number;
  python_share: number;
  native_share: number;
  system_share: number;
  waiting_share?: number;
  unreadable_share?: number;
  cpus?: number;
  garbage_share?: number;
  share_margin: number | null;
  intervals_from?: string;
}

export interface Weight {
  seconds?: number;
  events?: number;
  bytes?: number;
  blocks?: number;
  copies?: number;
}

export interface Kinds {
  python_share: number;
  native_share: number;
  system_share: number;
  waiting_share?: number;
  unreadable_share?: number;
}

export interface Amount {
  samples: number;
  seconds?: number;
  events?: number;
  bytes?: number;
  blocks?: number;
  copies?: number;
  share: number;
  share_low: number | null;
  share_high: number | null;
  python_share: number;
  native_share: number;
  system_share: number;
  waiting_share?: number;
  unreadable_share?: number;
}

export interface Place {
  function: string | null;
  file: string | null;
  line: number | null;
  language: string;
}

export interface Summary {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  lines: SummaryLine[];
  functions: Function[];
  processes: Process[];
  threads: Thread[];
  commands: Command[];
  verdict: string;
  other_lines: Others;
  other_functions: Others;
  lineless: Lineless[];
  launched?: Launched;
  waits?: Wait[];
  io?: IoTables;
  memory?: ProcessMemory[];
  allocations?: Allocations;
}

export interface Command {
  command: string;
  processes: number;
  samples: number;
  seconds?: number;
  events?: number;
  bytes?: number;
  blocks?: number;
  copies?: number;
  share: number;
  share_low: number | null;
  share_high: number | null;
  python_share: number;
  native_share: number;
  system_share: number;
  waiting_share?: number;
  unreadable_share?: number;
}

export interface Others {
  count: number;
  samples: number;
  seconds?: number;
  events?: number;
  bytes?: number;
  blocks?: number;
  copies?: number;
  share: number;
  share_low: number | null;
  share_high: number | null;
  python_share: number;
  native_share: number;
  system_share: number;
  waiting_share?: number;
  unreadable_share?: number;
}

export interface Wait {
  kind: string | null;
  what: WaitPlace | null;
  at: WaitPlace | null;
  inside: WaitPlace | null;
  locks?: number;
  children?: number;
  seconds: number;
  joined_threads?: number;
  threads: number;
}

export interface WaitPlace {
  function: string | null;
  file: string | null;
  line: number | null;
  language: string;
}

export interface SummaryLine {
  file: string;
  line: number;
  function: string | null;
  self_samples: number;
  self_seconds?: number;
  self_events?: number;
  self_bytes?: number;
  self_blocks?: number;
  self_copies?: number;
  self_share: number;
  self_share_low: number | null;
  self_share_high: number | null;
  self_python_share: number;
  self_native_share: number;
  self_system_share: number;
  self_waiting_share?: number;
  self_unreadable_share?: number;
  total_samples: number;
  total_seconds?: number;
  total_events?: number;
  total_bytes?: number;
  total_blocks?: number;
  total_copies?: number;
  total_share: number;
  total_share_low: number | null;
  total_share_high: number | null;
  total_python_share: number;
  total_native_share: number;
  total_system_share: number;
  total_waiting_share?: number;
  total_unreadable_share?: number;
  text: string | null;
}

export interface Function {
  function: string | null;
  file: string | null;
  line: number | null;
  language: string;
  self_samples: number;
  self_seconds?: number;
  self_events?: number;
  self_bytes?: number;
  self_blocks?: number;
  self_copies?: number;
  self_share: number;
  self_share_low: number | null;
  self_share_high: number | null;
  self_python_share: number;
  self_native_share: number;
  self_system_share: number;
  self_waiting_share?: number;
  self_unreadable_share?: number;
  total_samples: number;
  total_seconds?: number;
  total_events?: number;
  total_bytes?: number;
  total_blocks?: number;
  total_copies?: number;
  total_share: number;
  total_share_low: number | null;
  total_share_high: number | null;
  total_python_share: number;
  total_native_share: number;
  total_system_share: number;
  total_waiting_share?: number;
  total_unreadable_share?: number;
}

export interface Process {
  process: number;
  pid: number;
  command: string;
  parent: number | null;
  runtime: string | null;
  labels?: Label[];
  started_seconds: number | null;
  ended_seconds: number | null;
  exit_code: number | null;
  signal: number | null;
  user_seconds: number | null;
  system_seconds: number | null;
  threads: number;
  former_programs: FormerProgram[];
  samples: number;
  seconds?: number;
  events?: number;
  bytes?: number;
  blocks?: number;
  copies?: number;
  share: number;
  share_low: number | null;
  share_high: number | null;
  python_share: number;
  native_share: number;
  system_share: number;
  waiting_share?: number;
  unreadable_share?: number;
}

export interface FormerProgram {
  process: number;
  command: string;
  user_seconds: number | null;
  system_seconds: number | null;
  samples: number;
  seconds?: number;
  events?: number;
  bytes?: number;
  blocks?: number;
  copies?: number;
  share: number;
  share_low: number | null;
  share_high: number | null;
  python_share: number;
  native_share: number;
  system_share: number;
  waiting_share?: number;
  unreadable_share?: number;
}

export interface Thread {
  thread: number;
  tid: number;
  name: string | null;
  process: number;
  alive_seconds: number | null;
  cpu_seconds: number | null;
  gil_wait_seconds: number | null;
  samples: number;
  seconds?: number;
  events?: number;
  bytes?: number;
  blocks?: number;
  copies?: number;
  share: number;
  share_low: number | null;
  share_high: number | null;
  python_share: number;
  native_share: number;
  system_share: number;
  waiting_share?: number;
  unreadable_share?: number;
}

export interface Io {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  read_bytes: number;
  written_bytes: number;
  waited_seconds: number;
  cpu_seconds: number;
  samples: number;
  unseen_read_bytes: number;
  unseen_written_bytes: number;
  fetched_bytes: number;
  stored_bytes: number;
  files: IoFile[];
  lines: IoLine[];
}

export interface IoTables {
  read_bytes: number;
  written_bytes: number;
  waited_seconds: number;
  cpu_seconds: number;
  samples: number;
  unseen_read_bytes: number;
  unseen_written_bytes: number;
  fetched_bytes: number;
  stored_bytes: number;
  files: IoFile[];
  lines: IoLine[];
}

export interface IoAmount {
  read_bytes: number;
  written_bytes: number;
  waited_seconds: number;
  cpu_seconds: number;
  samples: number;
}

export interface IoFile {
  file: string | null;
  read_bytes: number;
  written_bytes: number;
  waited_seconds: number;
  cpu_seconds: number;
  samples: number;
}

export interface IoLine {
  at: IoPlace | null;
  read_bytes: number;
  written_bytes: number;
  waited_seconds: number;
  cpu_seconds: number;
  samples: number;
}

export interface IoPlace {
  function: string | null;
  file: string | null;
  line: number | null;
  language: string;
}

export interface Syscalls {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  has_waits: boolean;
  is_counted: boolean;
  calls_without_line: number | null;
  count: number | null;
  failed_count: number | null;
  waited_seconds: number;
  cpu_seconds: number;
  samples: number;
  calls: Syscall[];
  lines: SyscallLine[];
}

export interface SyscallAmount {
  count: number | null;
  failed_count: number | null;
  waited_seconds: number;
  cpu_seconds: number;
  samples: number;
}

export interface Syscall {
  call: string | null;
  errors: SyscallError[];
  count: number | null;
  failed_count: number | null;
  waited_seconds: number;
  cpu_seconds: number;
  samples: number;
}

export interface SyscallError {
  error: string;
  count: number;
}

export interface SyscallLine {
  at: IoPlace | null;
  call: string | null;
  count: number | null;
  count_plus_minus: number | null;
  sampled_calls: number | null;
  failed_count: number | null;
  waited_seconds: number;
  cpu_seconds: number;
  samples: number;
}

export interface Spans {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  attribute: string | null;
  spans_count: number;
  spans_summed: number;
  spans_unplaced: number;
  outside_samples: number;
  outside_seconds?: number;
  outside_events?: number;
  outside_bytes?: number;
  outside_blocks?: number;
  outside_copies?: number;
  outside_share: number;
  outside_share_low: number | null;
  outside_share_high: number | null;
  outside_python_share: number;
  outside_native_share: number;
  outside_system_share: number;
  outside_waiting_share?: number;
  outside_unreadable_share?: number;
  attributes_not_kept: number;
  names_not_kept: number;
  marks_not_kept: number;
  spans: Span[];
  rows_left_out: number;
  marks: Mark[];
  marks_left_out: number;
}

export interface Span {
  name: string;
  total_samples: number;
  total_seconds?: number;
  total_events?: number;
  total_bytes?: number;
  total_blocks?: number;
  total_copies?: number;
  total_share: number;
  total_share_low: number | null;
  total_share_high: number | null;
  total_python_share: number;
  total_native_share: number;
  total_system_share: number;
  total_waiting_share?: number;
  total_unreadable_share?: number;
  self_samples: number;
  self_seconds?: number;
  self_events?: number;
  self_bytes?: number;
  self_blocks?: number;
  self_copies?: number;
  self_share: number;
  self_share_low: number | null;
  self_share_high: number | null;
  self_python_share: number;
  self_native_share: number;
  self_system_share: number;
  self_waiting_share?: number;
  self_unreadable_share?: number;
  count: number;
  open: number;
  length_total_seconds: number | null;
  length_mean_seconds: number | null;
  length_least_seconds: number | null;
  length_median_seconds: number | null;
  length_p95_seconds: number | null;
  length_p99_seconds: number | null;
  length_most_seconds: number | null;
  is_exact: boolean;
}

export interface Mark {
  name: string;
  time_seconds: number;
  thread: number;
  span: string | null;
}

export interface Exceptions {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  raised: number;
  caught: number;
  left: number;
  unseen: number;
  exceptions: Exception[];
  rows_left_out: number;
}

export interface Exception {
  count: number;
  type: string;
  raised_by: RaisedPlace;
  end: string;
  caught_by: RaisedPlace | null;
}

export interface RaisedPlace {
  function: string | null;
  file: string | null;
  line: number | null;
  language: string;
}

export interface Memory {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  memory: ProcessMemory[];
}

export interface ProcessMemory {
  process: number;
  pid: number;
  command: string;
  peak_bytes: number;
  peak_at_seconds: number | null;
  start_bytes: number;
  end_bytes: number;
  proportional_bytes: number | null;
  most_proportional_bytes: number | null;
  most_in_use_bytes: number | null;
  most_in_use_bytes_low?: number;
  most_in_use_bytes_high?: number;
  most_slack_bytes: number | null;
  most_slack_bytes_low?: number;
  most_slack_bytes_high?: number;
  most_mapped_bytes: number | null;
  most_mapped_bytes_low?: number;
  most_mapped_bytes_high?: number;
  most_arena_bytes: number;
  is_forked: boolean;
  most_swapped_bytes: number;
  minor_faults: number;
  major_faults: number;
  growth: Growth | null;
  looks: Look[];
}

export interface Growth {
  bytes_per_second: number;
  bytes_per_second_low: number;
  bytes_per_second_high: number;
  seconds: number;
}

export interface Look {
  at_seconds: number;
  resident_bytes: number;
  proportional_bytes: number | null;
  anonymous_bytes: number;
  in_use_bytes: number | null;
  slack_bytes: number | null;
  mapped_bytes: number | null;
  arena_bytes: number;
  swapped_bytes: number;
  minor_faults: number;
  major_faults: number;
}

export interface Allocs {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  allocations: Allocations | null;
}

export interface Allocations {
  sampling: string;
  bytes_between_samples: number | null;
  most_bytes_between_samples: number | null;
  samples: number;
  seconds: number;
  total: Held;
  peaks: Peak[];
  lines: HeapLine[];
  functions: HeapFunction[];
  threads: HeapThread[];
  processes: HeapProcess[];
  types: HeapType[];
  types_untold: Untold;
  leaks: Leak[];
  unreachable: Unreachable;
  copied: Copied;
  copies: Copy[];
}

export interface Unreachable {
  searched_processes: number;
  with_chains: boolean;
  bytes: number;
  bytes_low?: number;
  bytes_high?: number;
  blocks: number;
  blocks_low?: number;
  blocks_high?: number;
  lines: Lost[];
}

export interface Lost {
  at: HeapPlace | null;
  bytes: number;
  bytes_low?: number;
  bytes_high?: number;
  blocks: number;
  blocks_low?: number;
  blocks_high?: number;
}

export interface Copied {
  bytes: number;
  bytes_low?: number;
  bytes_high?: number;
  copies: number;
  copies_low?: number;
  copies_high?: number;
  bytes_per_second: number;
}

export interface Copy {
  at: HeapPlace | null;
  bytes: number;
  bytes_low?: number;
  bytes_high?: number;
  copies: number;
  copies_low?: number;
  copies_high?: number;
  bytes_per_second: number;
}

export interface Held {
  allocated_bytes: number;
  allocated_bytes_low?: number;
  allocated_bytes_high?: number;
  allocated_blocks: number;
  allocated_blocks_low?: number;
  allocated_blocks_high?: number;
  live_bytes: number;
  live_bytes_low?: number;
  live_bytes_high?: number;
  live_blocks: number;
  live_blocks_low?: number;
  live_blocks_high?: number;
  peak_bytes: number;
  peak_bytes_low?: number;
  peak_bytes_high?: number;
  peak_blocks: number;
  peak_blocks_low?: number;
  peak_blocks_high?: number;
  temporary_bytes: number;
  temporary_bytes_low?: number;
  temporary_bytes_high?: number;
  temporary_blocks: number;
  temporary_blocks_low?: number;
  temporary_blocks_high?: number;
  samples: number;
  lifetime_seconds: number | null;
  python_share: number;
  native_share: number;
  mapped_share: number;
}

export interface HeapSum {
  bytes: number;
  bytes_low?: number;
  bytes_high?: number;
  blocks: number;
  blocks_low?: number;
  blocks_high?: number;
}

export interface Peak {
  pid: number | null;
  at_seconds: number;
  bytes: number;
  bytes_low?: number;
  bytes_high?: number;
  blocks: number;
  blocks_low?: number;
  blocks_high?: number;
}

export interface HeapLine {
  at: HeapPlace | null;
  allocated_bytes: number;
  allocated_bytes_low?: number;
  allocated_bytes_high?: number;
  allocated_blocks: number;
  allocated_blocks_low?: number;
  allocated_blocks_high?: number;
  live_bytes: number;
  live_bytes_low?: number;
  live_bytes_high?: number;
  live_blocks: number;
  live_blocks_low?: number;
  live_blocks_high?: number;
  peak_bytes: number;
  peak_bytes_low?: number;
  peak_bytes_high?: number;
  peak_blocks: number;
  peak_blocks_low?: number;
  peak_blocks_high?: number;
  temporary_bytes: number;
  temporary_bytes_low?: number;
  temporary_bytes_high?: number;
  temporary_blocks: number;
  temporary_blocks_low?: number;
  temporary_blocks_high?: number;
  samples: number;
  lifetime_seconds: number | null;
  python_share: number;
  native_share: number;
  mapped_share: number;
  growth_bytes_per_second: number;
  trend: Trend;
}

export interface Trend {
  live_bytes: number[];
}

export interface HeapFunction {
  at: HeapPlace | null;
  allocated_bytes: number;
  allocated_bytes_low?: number;
  allocated_bytes_high?: number;
  allocated_blocks: number;
  allocated_blocks_low?: number;
  allocated_blocks_high?: number;
  live_bytes: number;
  live_bytes_low?: number;
  live_bytes_high?: number;
  live_blocks: number;
  live_blocks_low?: number;
  live_blocks_high?: number;
  peak_bytes: number;
  peak_bytes_low?: number;
  peak_bytes_high?: number;
  peak_blocks: number;
  peak_blocks_low?: number;
  peak_blocks_high?: number;
  temporary_bytes: number;
  temporary_bytes_low?: number;
  temporary_bytes_high?: number;
  temporary_blocks: number;
  temporary_blocks_low?: number;
  temporary_blocks_high?: number;
  samples: number;
  lifetime_seconds: number | null;
  python_share: number;
  native_share: number;
  mapped_share: number;
}

export interface HeapType {
  type: string | null;
  is_growing_buffer: boolean;
  allocated_bytes: number;
  allocated_bytes_low?: number;
  allocated_bytes_high?: number;
  allocated_blocks: number;
  allocated_blocks_low?: number;
  allocated_blocks_high?: number;
  live_bytes: number;
  live_bytes_low?: number;
  live_bytes_high?: number;
  live_blocks: number;
  live_blocks_low?: number;
  live_blocks_high?: number;
  peak_bytes: number;
  peak_bytes_low?: number;
  peak_bytes_high?: number;
  peak_blocks: number;
  peak_blocks_low?: number;
  peak_blocks_high?: number;
  temporary_bytes: number;
  temporary_bytes_low?: number;
  temporary_bytes_high?: number;
  temporary_blocks: number;
  temporary_blocks_low?: number;
  temporary_blocks_high?: number;
  samples: number;
  lifetime_seconds: number | null;
  python_share: number;
  native_share: number;
  mapped_share: number;
}

export interface Untold {
  bytes: number;
  bytes_low?: number;
  bytes_high?: number;
}

export interface HeapThread {
  thread: number;
  name: string | null;
  allocated_bytes: number;
  allocated_bytes_low?: number;
  allocated_bytes_high?: number;
  allocated_blocks: number;
  allocated_blocks_low?: number;
  allocated_blocks_high?: number;
  live_bytes: number;
  live_bytes_low?: number;
  live_bytes_high?: number;
  live_blocks: number;
  live_blocks_low?: number;
  live_blocks_high?: number;
  peak_bytes: number;
  peak_bytes_low?: number;
  peak_bytes_high?: number;
  peak_blocks: number;
  peak_blocks_low?: number;
  peak_blocks_high?: number;
  temporary_bytes: number;
  temporary_bytes_low?: number;
  temporary_bytes_high?: number;
  temporary_blocks: number;
  temporary_blocks_low?: number;
  temporary_blocks_high?: number;
  samples: number;
  lifetime_seconds: number | null;
  python_share: number;
  native_share: number;
  mapped_share: number;
}

export interface HeapProcess {
  pid: number | null;
  allocated_bytes: number;
  allocated_bytes_low?: number;
  allocated_bytes_high?: number;
  allocated_blocks: number;
  allocated_blocks_low?: number;
  allocated_blocks_high?: number;
  live_bytes: number;
  live_bytes_low?: number;
  live_bytes_high?: number;
  live_blocks: number;
  live_blocks_low?: number;
  live_blocks_high?: number;
  peak_bytes: number;
  peak_bytes_low?: number;
  peak_bytes_high?: number;
  peak_blocks: number;
  peak_blocks_low?: number;
  peak_blocks_high?: number;
  temporary_bytes: number;
  temporary_bytes_low?: number;
  temporary_bytes_high?: number;
  temporary_blocks: number;
  temporary_blocks_low?: number;
  temporary_blocks_high?: number;
  samples: number;
  lifetime_seconds: number | null;
  python_share: number;
  native_share: number;
  mapped_share: number;
}

export interface Leak {
  at: HeapPlace | null;
  pid: number | null;
  probability: number;
  bytes: number;
  bytes_low?: number;
  bytes_high?: number;
  blocks: number;
  blocks_low?: number;
  blocks_high?: number;
  bytes_per_second: number;
  usual_lifetime_seconds: number | null;
}

export interface HeapPlace {
  function: string | null;
  file: string | null;
  line: number | null;
  language: string;
}

export interface MemoryLines {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  functions: MemoryFunction[];
}

export interface MemoryFunction {
  function: string | null;
  file: string;
  lines: MemoryLine[];
}

export interface MemoryLine {
  line: number;
  heap_bytes: number;
  increment_bytes: number;
  increment_bytes_low?: number;
  increment_bytes_high?: number;
  text: string | null;
}

export interface Lines {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  files: File[];
  files_left_out: number;
  without_line: Amount;
  lineless: Lineless[];
  launched?: Launched;
}

export interface Lineless {
  of: string;
  phase?: string;
  threads: number;
  samples: number;
  seconds?: number;
  events?: number;
  bytes?: number;
  blocks?: number;
  copies?: number;
  share: number;
  share_low: number | null;
  share_high: number | null;
  python_share: number;
  native_share: number;
  system_share: number;
  waiting_share?: number;
  unreadable_share?: number;
  waited_for_at: LinelessLine[];
}

export interface LinelessLine {
  at: LinelessPlace;
  samples: number;
  seconds?: number;
  events?: number;
  bytes?: number;
  blocks?: number;
  copies?: number;
  share: number;
  share_low: number | null;
  share_high: number | null;
  python_share: number;
  native_share: number;
  system_share: number;
  waiting_share?: number;
  unreadable_share?: number;
}

export interface LinelessPlace {
  function: string | null;
  file: string | null;
  line: number | null;
  language: string;
}

export interface Launched {
  samples: number;
  seconds?: number;
  events?: number;
  bytes?: number;
  blocks?: number;
  copies?: number;
  share: number;
  share_low: number | null;
  share_high: number | null;
  python_share: number;
  native_share: number;
  system_share: number;
  waiting_share?: number;
  unreadable_share?: number;
  by: LaunchedLine[];
}

export interface LaunchedLine {
  file: string;
  line: number;
  samples: number;
  seconds?: number;
  events?: number;
  bytes?: number;
  blocks?: number;
  copies?: number;
  share: number;
  share_low: number | null;
  share_high: number | null;
  python_share: number;
  native_share: number;
  system_share: number;
  waiting_share?: number;
  unreadable_share?: number;
}

export interface File {
  file: string;
  language: string;
  source: string;
  self_samples: number;
  self_seconds?: number;
  self_events?: number;
  self_bytes?: number;
  self_blocks?: number;
  self_copies?: number;
  self_share: number;
  self_share_low: number | null;
  self_share_high: number | null;
  self_python_share: number;
  self_native_share: number;
  self_system_share: number;
  self_waiting_share?: number;
  self_unreadable_share?: number;
  lines: Line[];
}

export interface Line {
  line: number;
  last_line?: number;
  function: string | null;
  self_samples: number;
  self_seconds?: number;
  self_events?: number;
  self_bytes?: number;
  self_blocks?: number;
  self_copies?: number;
  self_share: number;
  self_share_low: number | null;
  self_share_high: number | null;
  self_python_share: number;
  self_native_share: number;
  self_system_share: number;
  self_waiting_share?: number;
  self_unreadable_share?: number;
  total_samples: number;
  total_seconds?: number;
  total_events?: number;
  total_bytes?: number;
  total_blocks?: number;
  total_copies?: number;
  total_share: number;
  total_share_low: number | null;
  total_share_high: number | null;
  total_python_share: number;
  total_native_share: number;
  total_system_share: number;
  total_waiting_share?: number;
  total_unreadable_share?: number;
  text: string | null;
}

export interface Functions {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  functions: Function[];
  functions_left_out: number;
  unseen_share: number;
}

export interface Statprof {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  lines: Function[];
}

export interface Spread {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  recordings: number;
  all: Times | null;
  functions: SpreadFunction[];
  functions_left_out: number;
}

export interface SpreadFunction {
  function: string | null;
  file: string | null;
  line: number | null;
  language: string;
  self_least_seconds?: number;
  self_least_events?: number;
  self_least_bytes?: number;
  self_least_blocks?: number;
  self_least_copies?: number;
  self_median_seconds?: number;
  self_median_events?: number;
  self_median_bytes?: number;
  self_median_blocks?: number;
  self_median_copies?: number;
  self_most_seconds?: number;
  self_most_events?: number;
  self_most_bytes?: number;
  self_most_blocks?: number;
  self_most_copies?: number;
  self_mean_seconds?: number;
  self_mean_events?: number;
  self_mean_bytes?: number;
  self_mean_blocks?: number;
  self_mean_copies?: number;
  self_most_in: string;
  self_imbalance_share: number;
  self_is_uneven: boolean;
  total_least_seconds?: number;
  total_least_events?: number;
  total_least_bytes?: number;
  total_least_blocks?: number;
  total_least_copies?: number;
  total_median_seconds?: number;
  total_median_events?: number;
  total_median_bytes?: number;
  total_median_blocks?: number;
  total_median_copies?: number;
  total_most_seconds?: number;
  total_most_events?: number;
  total_most_bytes?: number;
  total_most_blocks?: number;
  total_most_copies?: number;
  total_mean_seconds?: number;
  total_mean_events?: number;
  total_mean_bytes?: number;
  total_mean_blocks?: number;
  total_mean_copies?: number;
  total_most_in: string;
  total_imbalance_share: number;
  total_is_uneven: boolean;
}

export interface Times {
  least_seconds?: number;
  least_events?: number;
  least_bytes?: number;
  least_blocks?: number;
  least_copies?: number;
  median_seconds?: number;
  median_events?: number;
  median_bytes?: number;
  median_blocks?: number;
  median_copies?: number;
  most_seconds?: number;
  most_events?: number;
  most_bytes?: number;
  most_blocks?: number;
  most_copies?: number;
  mean_seconds?: number;
  mean_events?: number;
  mean_bytes?: number;
  mean_blocks?: number;
  mean_copies?: number;
  most_in: string;
  imbalance_share: number;
  is_uneven: boolean;
}

export interface Callers {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  function: Asked;
  callers: Call[];
}

export interface Callees {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  function: Asked;
  callees: Call[];
}

export interface Calls {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  function: Asked;
  callers: Call[];
  callees: Call[];
}

export interface Asked {
  asked: string;
  places: AskedPlace[];
  nearest: string[];
  self_samples: number;
  self_seconds?: number;
  self_events?: number;
  self_bytes?: number;
  self_blocks?: number;
  self_copies?: number;
  self_share: number;
  self_share_low: number | null;
  self_share_high: number | null;
  self_python_share: number;
  self_native_share: number;
  self_system_share: number;
  self_waiting_share?: number;
  self_unreadable_share?: number;
  total_samples: number;
  total_seconds?: number;
  total_events?: number;
  total_bytes?: number;
  total_blocks?: number;
  total_copies?: number;
  total_share: number;
  total_share_low: number | null;
  total_share_high: number | null;
  total_python_share: number;
  total_native_share: number;
  total_system_share: number;
  total_waiting_share?: number;
  total_unreadable_share?: number;
}

export interface AskedPlace {
  function: string | null;
  file: string | null;
  line: number | null;
  language: string;
  samples: number;
  seconds?: number;
  events?: number;
  bytes?: number;
  blocks?: number;
  copies?: number;
}

export interface Call {
  function: string | null;
  file: string | null;
  line: number | null;
  language: string | null;
  samples: number;
  seconds?: number;
  events?: number;
  bytes?: number;
  blocks?: number;
  copies?: number;
  share: number;
  share_low: number | null;
  share_high: number | null;
  python_share: number;
  native_share: number;
  system_share: number;
  waiting_share?: number;
  unreadable_share?: number;
  share_of_function: number;
  share_of_function_low: number | null;
  share_of_function_high: number | null;
}

export interface Part {
  share_of_function: number;
  share_of_function_low: number | null;
  share_of_function_high: number | null;
}

export interface Annotate {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  asked: string;
  nearest: string[];
  functions: Annotated[];
}

export interface Annotated {
  function: string | null;
  file: string | null;
  line: number | null;
  language: string;
  signature: string | null;
  module: string | null;
  build_id: string | null;
  start: string;
  end: string;
  self_samples: number;
  self_seconds?: number;
  self_events?: number;
  self_bytes?: number;
  self_blocks?: number;
  self_copies?: number;
  self_share: number;
  self_share_low: number | null;
  self_share_high: number | null;
  self_python_share: number;
  self_native_share: number;
  self_system_share: number;
  self_waiting_share?: number;
  self_unreadable_share?: number;
  total_samples: number;
  total_seconds?: number;
  total_events?: number;
  total_bytes?: number;
  total_blocks?: number;
  total_copies?: number;
  total_share: number;
  total_share_low: number | null;
  total_share_high: number | null;
  total_python_share: number;
  total_native_share: number;
  total_system_share: number;
  total_waiting_share?: number;
  total_unreadable_share?: number;
  addresses_misplaced: number;
  instructions: Instruction[];
}

export interface Instruction {
  address: string;
  bytes: string;
  text: string;
  jump: string | null;
  function: string | null;
  file: string | null;
  line: number | null;
  language: string;
  source: string | null;
  self_samples: number;
  self_seconds?: number;
  self_events?: number;
  self_bytes?: number;
  self_blocks?: number;
  self_copies?: number;
  self_share_of_function: number;
  self_share_of_function_low: number | null;
  self_share_of_function_high: number | null;
  total_samples: number;
  total_seconds?: number;
  total_events?: number;
  total_bytes?: number;
  total_blocks?: number;
  total_copies?: number;
  total_share_of_function: number;
  total_share_of_function_low: number | null;
  total_share_of_function_high: number | null;
}

export interface Taken {
  samples: number;
  seconds?: number;
  events?: number;
  bytes?: number;
  blocks?: number;
  copies?: number;
  share_of_function: number;
  share_of_function_low: number | null;
  share_of_function_high: number | null;
}

export interface CountedLines {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  functions: CountedFunction[];
  functions_left_out: number;
}

export interface CountedFunction {
  function: string;
  file: string | null;
  line: number;
  seconds: number | null;
  lines: CountedLine[];
  lines_run?: number;
  lines_with_code?: number;
}

export interface CountedLine {
  line: number;
  hits: number;
  seconds: number | null;
  text: string | null;
}

export interface Trace {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  clock: string;
  groups: TraceGroup[];
}

export interface TraceGroup {
  label?: string;
  process: number | null;
  thread: number | null;
  all: Counted;
  functions: TracedFunction[];
  functions_left_out: number;
}

export interface TracedFunction {
  function: string | null;
  file: string | null;
  line: number | null;
  language: string;
  name: string;
  calls: number;
  primitive_calls: number;
  resumes: number;
  primitive_resumes: number;
  self_seconds: number | null;
  total_seconds: number | null;
  self_cost_seconds: number | null;
  total_cost_seconds: number | null;
  callers: TracedCalls[];
  callees: TracedCalls[];
}

export interface TracedCalls {
  name: string;
  calls: number;
  primitive_calls: number;
  resumes: number;
  primitive_resumes: number;
  self_seconds: number | null;
  total_seconds: number | null;
  self_cost_seconds: number | null;
  total_cost_seconds: number | null;
}

export interface Counted {
  calls: number;
  primitive_calls: number;
  resumes: number;
  primitive_resumes: number;
  self_seconds: number | null;
  total_seconds: number | null;
  self_cost_seconds: number | null;
  total_cost_seconds: number | null;
}

export interface Stacks {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  threads: Stack[];
}

export interface Stack {
  pid: number;
  thread: number;
  tid: number;
  name: string | null;
  state: string;
  frames: StackFrame[];
}

export interface StackFrame {
  function: string | null;
  file: string | null;
  line: number | null;
  language: string;
  locals?: Local[];
  locals_missing?: string;
}

export interface Local {
  name: string;
  origin: string;
  type: string | null;
  value: string;
  is_hidden: boolean;
}

export interface Tree {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  groups: TreeGroup[];
}

export interface TreeGroup {
  command?: string;
  label?: string;
  span?: string | null;
  process: number | null;
  thread: number | null;
  task: string | null;
  task_name: string | null;
  count: number;
  utilization: number | null;
  nodes: Node[];
}

export interface Flat {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  groups: FlatGroup[];
}

export interface FlatGroup {
  command?: string;
  label?: string;
  span?: string | null;
  process: number | null;
  thread: number | null;
  task: string | null;
  task_name: string | null;
  count: number;
  utilization: number | null;
  rows: Row[];
}

export interface FunctionGroups {
  profundo: Header;
  recording: Recording;
  selection: Selection;
  groups: FunctionGroup[];
}

export interface FunctionGroup {
  command?: string;
  label?: string;
  span?: string | null;
  process: number | null;
  thread: number | null;
  task: string | null;
  task_name: string | null;
  count: number;
  utilization: number | null;
  functions: Function[];
}

export interface Group {
  command?: string;
  label?: string;
  span?: string | null;
  process: number | null;
  thread: number | null;
  task: string | null;
  task_name: string | null;
  count: number;
  utilization: number | null;
}

export interface Node {
  node: number;
  caller: number | null;
  level: number;
  count: number;
  overhead: number;
  self_seconds?: number;
  self_events?: number;
  self_bytes?: number;
  self_blocks?: number;
  self_copies?: number;
  function: string | null;
  file: string | null;
  line: number | null;
  language: string;
  address?: string | null;
}

export interface Row {
  count: number;
  overhead: number;
  function: string | null;
  file: string | null;
  line: number | null;
  language: string;
  address?: string | null;
}

export interface Heap {
  profundo: Header;
  snapshot: GraphSnapshot;
  types: GraphType[];
  biggest: GraphRetaining[];
}

export interface HeapTypes {
  profundo: Header;
  snapshot: GraphSnapshot;
  types: GraphType[];
}

export interface HeapBiggest {
  profundo: Header;
  snapshot: GraphSnapshot;
  biggest: GraphRetaining[];
}

export interface HeapDominators {
  profundo: Header;
  snapshot: GraphSnapshot;
  dominators: GraphBranch[];
}

export interface HeapPath {
  profundo: Header;
  snapshot: GraphSnapshot;
  objects: number;
  unheld_objects: number;
  ways: GraphWay[];
}

export interface HeapDuplicates {
  profundo: Header;
  snapshot: GraphSnapshot;
  texts_are_hidden: boolean;
  strings: number | null;
  duplicates: GraphText[];
}

export interface HeapDifference {
  profundo: Header;
  before: GraphSize;
  now: GraphSize;
  has_stable_ids: boolean;
  types: GraphChange[];
  largest_new: GraphObject[];
}

export interface GraphSize {
  objects: number;
  references: number;
  bytes: number;
}

export interface GraphSnapshot {
  objects: number;
  references: number;
  bytes: number;
  unheld_objects: number;
}

export interface GraphType {
  type: string;
  objects: number;
  bytes: number;
  retained_bytes: number;
  retained_share: number;
  owners: GraphOwner[];
}

export interface GraphOwner {
  owner: string | null;
  objects: number;
  bytes: number;
  retained_bytes: number;
  retained_share: number;
}

export interface GraphFigures {
  objects: number;
  bytes: number;
  retained_bytes: number;
  retained_share: number;
}

export interface GraphObject {
  id: number;
  type: string;
  name: string;
  bytes: number;
}

export interface GraphRetaining {
  id: number;
  type: string;
  name: string;
  bytes: number;
  owner: string | null;
  path: string | null;
  retained_bytes: number;
  retained_share: number;
}

export interface GraphBranch {
  id: number;
  type: string;
  name: string;
  bytes: number;
  owner: string | null;
  path: string | null;
  retained_bytes: number;
  retained_share: number;
  depth: number;
  children: number;
  hidden_children: number;
  hidden_bytes: number;
}

export interface GraphWay {
  objects: number;
  bytes: number;
  most_retained_bytes: number;
  path: string | null;
  steps: GraphStep[];
}

export interface GraphStep {
  id: number;
  type: string;
  name: string;
  bytes: number;
  owner: string | null;
  by_kind: string | null;
  by: string | null;
  by_index: number | null;
}

export interface GraphText {
  text: string;
  objects: number;
  bytes: number;
  wasted_bytes: number;
}

export interface GraphChange {
  type: string;
  objects_before: number;
  objects_now: number;
  bytes_before: number;
  bytes_now: number;
  new_objects: number | null;
  new_bytes: number | null;
  gone_objects: number | null;
  gone_bytes: number | null;
  owners: GraphOwnerGrowth[];
}

export interface GraphOwnerGrowth {
  owner: string | null;
  objects_before: number;
  objects_now: number;
  bytes_before: number;
  bytes_now: number;
  new_objects: number | null;
  new_bytes: number | null;
  gone_objects: number | null;
  gone_bytes: number | null;
}

export interface GraphGrowth {
  objects_before: number;
  objects_now: number;
  bytes_before: number;
  bytes_now: number;
  new_objects: number | null;
  new_bytes: number | null;
  gone_objects: number | null;
  gone_bytes: number | null;
}

export interface Diff {
  profundo: Header;
  verdict: string;
  before: DiffRun[];
  after: DiffRun[];
  filter: string | null;
  scale: DiffScale;
  unit: string;
  is_exact: boolean;
  spread_is_measured: boolean;
  spread_share: number;
  common_factor: number;
  smallest_seen_share: number;
  smallest_seen_whole_share: number;
  whole: Difference;
  fail_above_share: number | null;
  failed: boolean;
  tables: DiffTable[];
  warnings: string[];
}

export interface DiffRun {
  name: string;
  command: string | null;
  duration_seconds: number | null;
  started_unix_seconds: number | null;
  samples: number;
}

export interface DiffScale {
  per: string;
  function: string | null;
  calls_before: number | null;
  calls_after: number | null;
}

export interface DiffTable {
  by: string;
  unit: string;
  rows: DiffRow[];
  rows_left_out: number;
  rows_by_chance: number;
}

export interface DiffRow {
  name: string;
  what: string;
  place_before: Place | null;
  place_after: Place | null;
  text: string | null;
  self_before: number;
  self_after: number;
  self_change: number;
  self_change_low: number;
  self_change_high: number;
  self_p: number;
  self_changed: boolean;
  total_before: number;
  total_after: number;
  total_change: number;
  total_change_low: number;
  total_change_high: number;
  total_p: number;
  total_changed: boolean;
  calls_seconds_before: number | null;
  calls_seconds_after: number | null;
}

export interface Difference {
  before: number;
  after: number;
  change: number;
  change_low: number;
  change_high: number;
  p: number;
  changed: boolean;
}

export interface Regressions {
  profundo: Header;
  asked: string;
  at_least_share: number;
  false_alarms_share: number;
  functions: Grown[];
  callers: Grown[];
  functions_left_out: number;
  services: ServiceVersions[];
}

export interface Grown {
  service: string;
  version_before: string;
  version_after: string;
  function: string;
  at: string;
  share_before: number;
  share_after: number;
  change_share: number;
  low_share: number;
  high_share: number;
  p: number;
  cpus: number;
}

export interface ServiceVersions {
  service: string;
  version_before: string | null;
  version_after: string | null;
  replicas: string | null;
  replicas_before: number | null;
  replicas_after: number | null;
  samples_before: number | null;
  samples_after: number | null;
  cpus_before: number | null;
  cpus_after: number | null;
  common_factor: number | null;
  functions: number | null;
  why_not: string | null;
}

export interface Doctor {
  profundo: Header;
  works: boolean;
  parts: List[];
}

export interface List {
  heading: string;
  checks: Check[];
}

export interface Check {
  topic: string;
  verdict: string;
  essential: boolean;
  says: string;
  command: string | null;
  advice: string | null;
}

export interface Time {
  profundo: Header;
  command: string;
  warmups: number;
  runs: Run[];
  figures: RunFigure[];
  notes: string[];
}

export interface Run {
  real_seconds: number;
  user_seconds: number;
  system_seconds: number;
  cpu_share: number | null;
  peak_resident_bytes: number | null;
  tree_peak_resident_bytes: number | null;
  peak_is_bound: boolean;
  minor_faults: number;
  major_faults: number;
  voluntary_switches: number;
  involuntary_switches: number;
  read_bytes: number | null;
  written_bytes: number | null;
  disk_read_bytes: number;
  disk_written_bytes: number;
  processes: number | null;
  threads: number | null;
  unwaited_seconds: number | null;
  unwaited_is_estimated: boolean;
  still_running: number | null;
  signals_received: number | null;
  exit_code: number | null;
  signal: number | null;
  machine: RunMachine;
}

export interface RunMachine {
  cpus: number;
  busy_seconds: number | null;
  stolen_seconds: number;
  held_back_seconds: number | null;
  overheated: number | null;
  limited_to_khz: number | null;
  limited_of_khz: number | null;
}

export interface RunFigure {
  figure: string;
  runs: number;
  mean: number;
  deviation: number | null;
  least: number;
  most: number;
}
