//! Where a heap is told to, object by object: nothing is kept that need not be, and nothing has to
//! come in an order.

/// An object: its row, in the order in which the objects were told. Row 0 is the root of all.
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

/// A text that a sink was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NameId(pub u32);

/// What a reference is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// The name of a field, of a variable, of a key.
    Name(NameId),
    /// The place in a row of elements.
    Index(u64),
}

/// Takes a heap.
///
/// The first object that is told is the root of all, and all others hang on it by references. A
/// reference may be told before the object that it leads to: rows are counted from 0 in the order
/// of [`Sink::node`], so whoever tells them can know them beforehand.
pub trait Sink {
    /// Why nothing more can be taken.
    type Error;

    /// The kind of objects that is called `name`, the same for the same name. Readers of V8's format
    /// know `synthetic`, `object`, `string`, `array`, `closure`, `native`, `hidden` and more; any other
    /// name is a type's.
    fn node_kind(&mut self, name: &str) -> Result<NodeKindId, Self::Error>;

    /// The kind of references that is called `name`, the same for the same name. Those of kind
    /// `element` and `hidden` are labelled by [`Label::Index`] and all others by [`Label::Name`],
    /// because readers of V8's format take it so. What is `weak` keeps nothing alive.
    fn edge_kind(&mut self, name: &str) -> Result<EdgeKindId, Self::Error>;

    /// A text that is told often: the name of a type, of a field. Told again, it is the same while
    /// the sink remembers it.
    fn name(&mut self, text: &[u8]) -> Result<NameId, Self::Error>;

    /// A text that is what the program holds, such as the characters of a string: a sink may hide it.
    fn content(&mut self, text: &[u8]) -> Result<NameId, Self::Error>;

    /// An object of `size` bytes of its own. `id` is what it is known by from one snapshot to the
    /// next, as a rule its address.
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

/// What stands for a text that is hidden. The word is that of Julia's snapshots.
pub const REDACTED: &[u8] = b"<redacted>";
