//! The receiver of a heap, object by object: it keeps no more than it must, and the objects come in
//! any order.

/// An object: its row, in the order of their arrival. Row 0 is the root of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The row.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A kind of objects: `object`, `string`, or a type's full name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeKindId(pub u32);

/// A kind of references: `property`, `element`, `internal`, `weak`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct EdgeKindId(pub u32);

/// A text that a sink has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NameId(pub u32);

/// The label of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// The name of a field, a variable or a key.
    Name(NameId),
    /// The index of an element.
    Index(u64),
}

/// Takes a heap.
///
/// The first object is the root of all, and all others hang on it by references. A reference may
/// come before the object that it leads to: rows are counted from 0 in the order of [`Sink::node`],
/// so the producer can know them beforehand.
pub trait Sink {
    /// The reason why nothing more can be taken.
    type Error;

    /// The kind of objects of this name, the same for the same name. Readers of V8's format know
    /// `synthetic`, `object`, `string`, `array`, `closure`, `native`, `hidden` and more; any other
    /// name is a type's.
    fn node_kind(&mut self, name: &str) -> Result<NodeKindId, Self::Error>;

    /// The kind of references of this name, the same for the same name. References of kind
    /// `element` and `hidden` are labelled by [`Label::Index`] and all others by [`Label::Name`],
    /// as readers of V8's format expect. A `weak` reference keeps nothing alive.
    fn edge_kind(&mut self, name: &str) -> Result<EdgeKindId, Self::Error>;

    /// A frequent text: the name of a type or a field. The same text gives the same id while the
    /// sink remembers it.
    fn name(&mut self, text: &[u8]) -> Result<NameId, Self::Error>;

    /// A text of the program's own data, such as the characters of a string: a sink may hide it.
    fn content(&mut self, text: &[u8]) -> Result<NameId, Self::Error>;

    /// An object of `size` bytes of its own. `id` identifies it across snapshots; as a rule it is
    /// the address.
    fn node(
        &mut self,
        kind: NodeKindId,
        name: NameId,
        id: u64,
        size: u64,
    ) -> Result<NodeId, Self::Error>;

    /// A reference.
    fn edge(
        &mut self,
        kind: EdgeKindId,
        label: Label,
        from: NodeId,
        to: NodeId,
    ) -> Result<(), Self::Error>;
}

/// The replacement for a hidden text. The word is that of Julia's snapshots.
pub const REDACTED: &[u8] = b"<redacted>";
