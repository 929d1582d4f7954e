//! The instructions of a whole program beside those of `objdump`: the same addresses, the same
//! words.

use std::path::Path;
use std::process::Command;

use profundo_disassembly::{Code, Machine, Syntax};
use profundo_testing::{skip, tool};

/// A function as `objdump` prints it.
#[derive(Debug, Default)]
struct Function {
    start: u64,
    bytes: Vec<u8>,
    /// The address and the text of each instruction.
    instructions: Vec<(u64, String)>,
}

/// The functions in the section `.text` of a file.
fn functions(objdump: &Path, file: &Path) -> Vec<Function> {
    let output = Command::new(objdump)
        .args(["-d", "-w", "-z", "-j", ".text"])
        .arg(file)
        .output()
        .unwrap();
    let mut functions: Vec<Function> = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if line.ends_with(">:") {
            functions.push(Function::default());
            continue;
        }
        let mut parts = line.split('\t');
        let (Some(address), Some(bytes), Some(function)) =
            (parts.next(), parts.next(), functions.last_mut())
        else {
            continue;
        };
        let address = address.trim().trim_end_matches(':');
        let Ok(address) = u64::from_str_radix(address, 16) else {
            continue;
        };
        if function.instructions.is_empty() {
            function.start = address;
        }
        let text = parts.next().unwrap_or_default().trim().to_owned();
        let bytes = bytes.split_whitespace();
        (function.bytes).extend(bytes.filter_map(|byte| u8::from_str_radix(byte, 16).ok()));
        function.instructions.push((address, text));
    }
    functions
}

/// A mnemonic without what the two print differently: the letter of the operands' size, and
/// prefixes that only pad.
fn word(text: &str) -> String {
    const PREFIXES: [&str; 8] = ["data16", "cs", "ds", "es", "ss", "notrack", "bnd", "addr32"];
    let mut words = text.split_whitespace();
    let word = words.find(|word| {
        let bare = word.split(',').next().unwrap_or(word);
        !PREFIXES.contains(&bare) && !bare.starts_with("rex")
    });
    let word = word.unwrap_or_default();
    match word {
        "xchg" | "nop" => "nop".to_owned(),
        _ => word.trim_end_matches(['b', 'w', 'l', 'q']).to_owned(),
    }
}

/// Compares the functions of a file, at most so many instructions. Returns the number of
/// instructions, and of those with another word.
fn compare(objdump: &Path, file: &Path, most: usize) -> (usize, usize) {
    let (mut count, mut different) = (0, 0);
    for function in functions(objdump, file) {
        if count >= most {
            break;
        }
        let code = Code::new(Machine::X86_64, &function.bytes, function.start);
        let found = code.instructions(Syntax::Att, |_| None);
        let ours: Vec<u64> = found.iter().map(|row| row.address).collect();
        let theirs: Vec<u64> = function.instructions.iter().map(|row| row.0).collect();
        assert_eq!(ours, theirs, "the function at {:#x}", function.start);
        for (ours, (_, theirs)) in found.iter().zip(&function.instructions) {
            different += usize::from(word(&ours.text) != word(theirs));
        }
        count += found.len();
    }
    (count, different)
}

#[test]
fn the_instructions_of_this_program_are_those_of_objdump() {
    let Some(objdump) = tool("objdump").filter(|_| cfg!(target_arch = "x86_64")) else {
        return skip("objdump of x86-64 is not there");
    };
    let own = match std::env::var_os("PROFUNDO_DISASSEMBLE") {
        Some(other) => other.into(),
        None => std::env::current_exe().unwrap(),
    };
    let (count, different) = compare(&objdump, &own, 60_000);
    assert!(count > 10_000, "{count} instructions");
    // Some have several names, as `cmovae` and `cmovnb` do.
    assert!(different * 100 <= count, "{different} of {count}");
}
