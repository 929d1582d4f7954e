//! Code of CPython's own, from 3.8 to 3.15, of this function (line 1 is empty):
//!
//! ```python
//! def f(d):
//!     try:
//!         d()
//!     except KeyError:              # line 5
//!         a = 1
//!     except (ValueError, d.x) as e:
//!         b = 2
//!     except:                       # line 9
//!         c = 3
//!     finally:
//!         d(4)
//!     with d:                       # line 13
//!         d()
//!     raise d from None             # line 15
//!     try:
//!         d()
//!     except OSError:               # line 18
//!         raise
//! ```
//!
//! What stands after a `raise` is left out by compilers from 3.10 on.

use std::collections::BTreeSet;
use std::vec::Vec;

use super::{Handlers, handler_in};

struct Sample {
    minor: u8,
    /// `co_code`, in hexadecimal digits.
    code: &'static str,
    /// Offsets, and the lines that begin there.
    lines: &'static [(u32, u32)],
}

impl Sample {
    fn bytes(&self) -> Vec<u8> {
        let digits = self.code.as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16).unwrap() as u8;
        digits
            .chunks(2)
            .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
            .collect()
    }

    fn line(&self, offset: u32) -> u32 {
        let before = self.lines.iter().rev().find(|(start, _)| *start <= offset);
        before.unwrap().1
    }

    fn offset(&self, line: u32) -> u32 {
        self.lines.iter().find(|row| row.1 == line).unwrap().0
    }
}

#[test]
fn a_raise_with_an_exception_is_found() {
    for sample in SAMPLES {
        let code = sample.bytes();
        let handlers = Handlers::new(sample.minor, &code).unwrap();
        let offsets = (0..code.len() as u32).step_by(2);
        let raises: Vec<u32> = offsets.filter(|&offset| handlers.raises(offset)).collect();
        // 3.13 and later have it twice.
        assert!((1..=2).contains(&raises.len()), "3.{}", sample.minor);
        assert!(raises.iter().all(|&offset| sample.line(offset) == 15));
    }
}

#[test]
fn clauses_are_on_their_lines() {
    for sample in SAMPLES {
        let code = sample.bytes();
        let handlers = Handlers::new(sample.minor, &code).unwrap();
        let mut lines = BTreeSet::new();
        handlers.clauses(|offset| {
            lines.insert(sample.line(offset));
        });
        let expected: &[u32] = match sample.minor {
            ..=9 => &[5, 7, 9, 18],
            _ => &[5, 7, 9],
        };
        assert!(lines.iter().eq(expected), "3.{}: {lines:?}", sample.minor);
        assert!(handlers.has_clauses(sample.offset(5)));
        if sample.minor <= 9 {
            assert!(!handlers.has_clauses(sample.offset(18)));
        }
    }
}

#[test]
fn a_with_is_found_by_its_handler() {
    for sample in SAMPLES.iter().filter(|sample| sample.minor <= 10) {
        let code = sample.bytes();
        let handlers = Handlers::new(sample.minor, &code).unwrap();
        let offsets = (0..code.len() as u32).step_by(2);
        let found: BTreeSet<u32> = offsets
            .filter_map(|offset| handlers.statement_of(offset))
            .map(|with| sample.line(with))
            .collect();
        assert!(found.iter().eq(&[13]), "{found:?}");
    }
}

/// The first instructions of `except* ValueError` in 3.12, and of `except ValueError`.
#[test]
fn groups_have_other_clauses() {
    let groups = [
        35, 0, 120, 1, 103, 0, 99, 2, 116, 0, 37, 0, 120, 1, 129, 5, 119, 0,
    ];
    let plain = [35, 0, 116, 0, 36, 0, 114, 1, 119, 0];
    let is_of_groups = |code: &[u8]| Handlers::new(12, code).unwrap().is_of_groups(0);
    assert!(is_of_groups(&groups));
    assert!(!is_of_groups(&plain));
}

#[test]
fn handlers_are_in_the_table() {
    // Of 3.11.
    let table = [
        0x82, 0x0A, 0x0D, 0x00, 0x8C, 0x01, 0x41, 0x0A, 0x00, 0x8D, 0x0C, 0x3B, 0x03,
    ];
    assert_eq!(handler_in(&table, 2), None);
    assert_eq!(handler_in(&table, 4), Some(26));
    assert_eq!(handler_in(&table, 22), Some(26));
    assert_eq!(handler_in(&table, 24), Some(148));
    assert_eq!(handler_in(&table, 48), Some(118));
    assert_eq!(handler_in(&table, 50), None);
    for end in 0..table.len() {
        let _ = handler_in(&table[..end], 60);
    }
}

#[test]
fn the_compilers_own_handlers_are_known() {
    let code = [35, 0, 1, 0, 120, 3, 89, 0, 119, 1, 173, 3, 119, 1];
    let handlers = Handlers::new(12, &code).unwrap();
    let hidden: Vec<u32> = (0..14)
        .step_by(2)
        .filter(|&at| handlers.is_hidden(at))
        .collect();
    assert_eq!(hidden, [4, 10]);
}

/// Bytes that are no code have no answers, and no answer takes long.
#[test]
fn anything_may_be_code() {
    for minor in 8..=15 {
        for seed in 0..=u8::MAX {
            let code: Vec<u8> = (0..99_u8).map(|at| at.wrapping_mul(seed)).collect();
            let handlers = Handlers::new(minor, &code).unwrap();
            let mut count = 0;
            handlers.clauses(|_| count += 1);
            assert!(count <= 150);
            for at in 0..=code.len() as u32 {
                let _ = (handlers.raises(at), handlers.has_clauses(at));
                let _ = (handlers.is_hidden(at), handlers.statement_of(at));
            }
            let _ = handler_in(&code, 8);
        }
    }
    assert!(Handlers::new(99, &[]).is_none());
}

const SAMPLES: &[Sample] = &[
    Sample {
        minor: 8,
        code: "\
            7a607a0a7c008300010057006e50040074006b0a722401000100010064027d0159006e3a040074017c006a02\
            66026b0a724e01007d0201007a0864037d035700350064007d027e02580059006e1001000100010064047d04\
            59006e025800570035007c0064018301010058007c008f0c01007c0083000100570035005100520058007c00\
            640082027a0a7c008300010057006e16040074036b0a72a8010001000100820059006e02580064005300\
        ",
        lines: &[
            (0, 3),
            (4, 4),
            (14, 5),
            (28, 6),
            (36, 7),
            (58, 8),
            (78, 9),
            (84, 10),
            (98, 12),
            (108, 13),
            (114, 14),
            (130, 15),
            (136, 16),
            (138, 17),
            (148, 18),
            (162, 19),
        ],
    },
    Sample {
        minor: 9,
        code: "\
            7a687a0a7c008300010057006e5004007400792201000100010064017d0159006e3c040074017c006a026602\
            794e01007d0201007a1064027d035700590064007d027e026e1864007d027e02300001000100010064037d04\
            59006e02300057007c006404830101006e0a7c0064048301010030007c008f1601007c008300010057006400\
            04000400830301006e10310073943000010001000100590001007c00640082027a0a7c008300010057006e14\
            0400740379c2010001000100820059006e02300064005300\
        ",
        lines: &[
            (0, 3),
            (4, 4),
            (14, 5),
            (26, 6),
            (34, 7),
            (54, 8),
            (78, 9),
            (84, 10),
            (96, 12),
            (116, 13),
            (122, 14),
            (158, 15),
            (164, 16),
            (166, 17),
            (176, 18),
            (188, 19),
        ],
    },
    Sample {
        minor: 10,
        code: "\
            7a327a057c008300010057006e2604007400791101000100010064017d0159006e1c040074017c006a026602\
            792701007d0201007a0864027d035700590064007d027e026e0a64007d027e02770101000100010064037d04\
            590057007c006404830101006e057c0064048301010077007c008f0d01007c00830001005700640004000400\
            830301007c00640082023100734a7701010001000100590001007c0064008202\
        ",
        lines: &[
            (0, 3),
            (4, 4),
            (14, 5),
            (26, 6),
            (34, 7),
            (54, 8),
            (78, 9),
            (84, 10),
            (92, 12),
            (112, 13),
            (118, 14),
            (126, 13),
            (136, 15),
            (142, 13),
            (158, 15),
        ],
    },
    Sample {
        minor: 11,
        code: "\
            9700090002007c00a6000000ab00000000000000000001006e31230074000000000000000000000024007205\
            010064017d0159006e237402000000000000000000007c006a02000000000000000066022400720c7d026402\
            7d03590064007d027e026e0c64007d027e027701010064037d0459006e0378035900770102007c006404a601\
            0000ab01000000000000000001006e10230002007c006404a6010000ab010000000000000000010077007803\
            590077017c003500010002007c00a6000000ab0000000000000000000100640064006400a6020000ab020000\
            00000000000001006e0b230031007304770278035900770101005900010001007c0064008202\
        ",
        lines: &[
            (0, 2),
            (2, 3),
            (4, 4),
            (28, 5),
            (46, 6),
            (54, 7),
            (86, 8),
            (108, 9),
            (110, 10),
            (124, 12),
            (180, 13),
            (186, 14),
            (206, 13),
            (252, 15),
        ],
    },
    Sample {
        minor: 12,
        code: "\
            9700090002007c00ab00000000000000010002007c006404ab0100000000000001007c003500010002007c00\
            ab000000000000000100640064006400ab0200000000000001007c0064008202230074000000000000000000\
            24007205010064017d0159008c2a740200000000000000007c006a0400000000000000000000000000000000\
            000066022400720c7d0264027d03590064007d027e028c4564007d027e027701010064037d0459008c4e7803\
            59007701230002007c006404ab01000000000000010077007803590077012300310073017702010059000100\
            01007c0064008202780359007701\
        ",
        lines: &[
            (0, 2),
            (2, 3),
            (4, 4),
            (18, 12),
            (34, 13),
            (40, 14),
            (54, 13),
            (70, 15),
            (78, 5),
            (94, 6),
            (102, 7),
            (142, 8),
            (164, 9),
            (166, 10),
            (182, 12),
            (206, 13),
            (222, 15),
        ],
    },
    Sample {
        minor: 13,
        code: "\
            95001e0055002200350000000000000020005500220053043501000000000000200055000200200055002200\
            350000000000000020005300530053003502000000000000200055005300650221005b000000000000000000\
            070061050000200053016e011f004e2b5b020000000000000000550052040000000000000000000000000000\
            0000000034020700610c00006e0253026e031f0053006e0241024e4753006e0241026601200053036e041f00\
            4e503d031f00660121005500220053043501000000000000200066003d031f00660121002c00280000000000\
            000064010000660220001f00200020005500530065023d031f006601\
        ",
        lines: &[
            (0, 2),
            (2, 3),
            (4, 4),
            (18, 12),
            (34, 13),
            (40, 14),
            (54, 13),
            (70, 15),
            (78, 5),
            (96, 6),
            (104, 7),
            (146, 8),
            (168, 9),
            (170, 10),
            (186, 12),
            (210, 13),
            (236, 15),
        ],
    },
    Sample {
        minor: 14,
        code: "\
            80001b005600210034000000000000001f00540021005e0434010000000000001f0054003b015f0175027503\
            5f0034000000000000001f005400210034000000000000001f0052015201520134030000000000001f005400\
            5201680220005c0000000000000000000600640600001c001f005e0170011d004c345c020000000000000000\
            5400500400000000000000000000000000000000000033020600640d00001c0070025e0270031d0052017002\
            3f024c51520170023f0269011f005e0370041d004c5a3b031d0069012000540021005e043401000000000000\
            1f0069003b031d00690120002b002700000000000000670200001c0069021f001d001f001f001f0054005201\
            68023b031d006901\
        ",
        lines: &[
            (0, 2),
            (2, 3),
            (4, 4),
            (18, 12),
            (34, 13),
            (56, 14),
            (70, 13),
            (86, 15),
            (94, 5),
            (114, 6),
            (122, 7),
            (166, 8),
            (188, 9),
            (190, 10),
            (206, 12),
            (230, 13),
            (260, 15),
        ],
    },
    Sample {
        minor: 15,
        code: "\
            80000000190055001f0032000000000000001d0055001f005d0432010000000000001d00550039015e017402\
            74035e0032000000000000001d0055001f0032000000000000001d0050075007500732030000000000001d00\
            5500500767021e005b0000000000000000000600630600001a001d005d016f011b004b345b02000000000000\
            000053004f0400000000000000000000000000000000000031020600630d00001a006f025d026f031b005007\
            6f023d024b5150076f023d0268011d005d036f041b004b5a39031b0068011e0053001f005d04320100000000\
            00001d00680039031b0068011e0029002500000000000000660200001a0068021d001b001d001d001d005300\
            5007670239031b006801\
        ",
        lines: &[
            (0, 2),
            (4, 3),
            (6, 4),
            (20, 12),
            (36, 13),
            (58, 14),
            (72, 13),
            (88, 15),
            (96, 5),
            (116, 6),
            (124, 7),
            (168, 8),
            (190, 9),
            (192, 10),
            (208, 12),
            (232, 13),
            (262, 15),
        ],
    },
];
