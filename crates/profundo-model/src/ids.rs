//! Typed indices. Each table has its own, so that a stack can never be looked up as a frame.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u32);

        impl $name {
            /// The row in this id's table.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the row at `index`. Tables hold fewer than 2^32 rows.
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("a table holds fewer than 2^32 rows"))
            }
        }
    };
}

id!(
    /// A row of [`crate::StringTable`]. Row 0 is the empty string.
    StringId
);
id!(
    /// A row of [`crate::FileTable`]. Row 0 is the unknown file.
    FileId
);
id!(
    /// A row of [`crate::FrameTable`].
    FrameId
);
id!(
    /// A row of [`crate::LocationTable`].
    LocationId
);
id!(
    /// A row of [`crate::StackTable`].
    StackId
);
id!(
    /// A row of [`crate::SpanTable`]. Row 0 stands for "outside of spans".
    SpanId
);
id!(
    /// A row of [`crate::ThreadTable`].
    ThreadId
);
id!(
    /// A row of [`crate::TaskTable`].
    TaskId
);
id!(
    /// A row of the profile's process list.
    ProcessId
);
id!(
    /// A row of the profile's list of origins.
    OriginId
);
id!(
    /// A row of [`crate::ModuleTable`].
    ModuleId
);
