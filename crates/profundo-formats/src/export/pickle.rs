//! The part of Python's `pickle` that a table of lines needs, in protocol 2, which every Python 3
//! reads.

/// Values in the making: each goes onto a stack, and containers take their members from there.
#[derive(Debug)]
pub(super) struct Pickle {
    pub bytes: Vec<u8>,
}

impl Pickle {
    pub(super) fn new() -> Self {
        Self {
            bytes: vec![0x80, 2],
        }
    }

    /// An empty object of a class.
    pub(super) fn object(&mut self, module: &str, class: &str) {
        self.bytes.push(b'c');
        self.bytes.extend(format!("{module}\n{class}\n").bytes());
        self.bytes.extend([b')', 0x81]);
    }

    /// Gives the last object the members of the dictionary after it.
    pub(super) fn build(&mut self) {
        self.bytes.push(b'b');
    }

    /// Starts a dictionary: keys and values follow in turn, up to [`Pickle::end_dict`].
    pub(super) fn dict(&mut self) {
        self.bytes.extend(b"}(");
    }

    pub(super) fn end_dict(&mut self) {
        self.bytes.push(b'u');
    }

    /// Starts a list: its values follow, up to [`Pickle::end_list`].
    pub(super) fn list(&mut self) {
        self.bytes.extend(b"](");
    }

    pub(super) fn end_list(&mut self) {
        self.bytes.push(b'e');
    }

    /// Makes a tuple of the last three values.
    pub(super) fn tuple3(&mut self) {
        self.bytes.push(0x87);
    }

    pub(super) fn int(&mut self, number: u64) {
        if let Ok(small) = i32::try_from(number) {
            self.bytes.push(b'J');
            self.bytes.extend(small.to_le_bytes());
            return;
        }
        // With its sign, which takes a ninth byte where the highest bit is set.
        self.bytes.extend([0x8a, 9]);
        self.bytes.extend(number.to_le_bytes());
        self.bytes.push(0);
    }

    pub(super) fn float(&mut self, number: f64) {
        self.bytes.push(b'G');
        self.bytes.extend(number.to_be_bytes());
    }

    pub(super) fn text(&mut self, text: &str) {
        let length = u32::try_from(text.len()).expect("a name is shorter than 4 GB");
        self.bytes.push(b'X');
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(text.as_bytes());
    }

    pub(super) fn end(mut self) -> Vec<u8> {
        self.bytes.push(b'.');
        self.bytes
    }
}
