//! Rows to Parquet. Files are small or sorted, so only chunks have statistics, and there is no
//! index of pages.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType,
    Int32Type, Int64Type,
};
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use crate::Error;
use crate::ids::Id;
use crate::table::{Table, VERSION};
use crate::texts::{Text, Texts};

/// The key of the version in a file's metadata.
pub(super) const VERSION_KEY: &str = "profundo.version";
/// The key of the table's name.
const TABLE_KEY: &str = "profundo.table";

/// A file of these rows, which are sorted. `facts` are further keys of its metadata.
pub fn encode<T: Table>(
    rows: &[T],
    texts: &Texts,
    facts: &[(&str, String)],
) -> Result<Vec<u8>, Error> {
    let schema = parse_message_type(T::SCHEMA)?;
    let properties = Arc::new(properties::<T>(facts));
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
    let mut made = Vec::new();
    for rows in rows.chunks(T::GROUP) {
        let mut group = file.next_row_group()?;
        let mut put = Put {
            group: &mut group,
            made: &mut made,
        };
        T::write(rows, texts, &mut put)?;
        group.close()?;
    }
    Ok(file.into_inner()?)
}

fn properties<T: Table>(facts: &[(&str, String)]) -> WriterProperties {
    let mut keys = vec![
        KeyValue::new(VERSION_KEY.to_owned(), VERSION.to_string()),
        KeyValue::new(TABLE_KEY.to_owned(), T::NAME.to_owned()),
    ];
    let facts = facts.iter();
    keys.extend(facts.map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone())));
    let sorting = T::SORTED_BY.iter().map(|&column_idx| SortingColumn {
        column_idx,
        descending: false,
        nulls_first: false,
    });
    let mut builder = WriterProperties::builder()
        .set_created_by(format!("profundo {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::LZ4_RAW)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_write_page_header_statistics(false)
        .set_dictionary_page_size_limit(2 << 20)
        .set_key_value_metadata(Some(keys))
        .set_sorting_columns(Some(sorting.collect()));
    // Ids of definitions are all different, and their lists begin alike where they are neighbours.
    let distinct: &[&[&str]] = match T::NAME {
        "frames" => &[&["frame"]],
        "stacks" => &[&["stack"], &["frames", "list", "element"]],
        _ => &[],
    };
    for path in distinct {
        let path = ColumnPath::new(path.iter().map(|part| (*part).to_owned()).collect());
        builder = builder.set_column_dictionary_enabled(path, false);
    }
    builder.build()
}

/// The columns of a row group, written one after another.
pub struct Put<'group, 'file> {
    group: &'group mut SerializedRowGroupWriter<'file, Vec<u8>>,
    made: &'group mut Vec<Option<ByteArray>>,
}

impl std::fmt::Debug for Put<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Put").finish_non_exhaustive()
    }
}

impl Put<'_, '_> {
    /// A column of numbers.
    pub fn longs(&mut self, values: impl Iterator<Item = i64>) -> Result<(), Error> {
        self.put::<Int64Type>(&values.collect::<Vec<_>>(), None)
    }

    /// A column of small numbers.
    pub fn ints(&mut self, values: impl Iterator<Item = i32>) -> Result<(), Error> {
        self.put::<Int32Type>(&values.collect::<Vec<_>>(), None)
    }

    /// A column of truths.
    pub fn truths(&mut self, values: impl Iterator<Item = bool>) -> Result<(), Error> {
        self.put::<BoolType>(&values.collect::<Vec<_>>(), None)
    }

    /// A column of texts.
    pub fn texts(
        &mut self,
        texts: &Texts,
        values: impl Iterator<Item = Text>,
    ) -> Result<(), Error> {
        let values: Vec<ByteArray> = values.map(|text| self.made(texts, text)).collect();
        self.put::<ByteArrayType>(&values, None)
    }

    /// A column of ids.
    pub fn ids(&mut self, values: impl Iterator<Item = Id>) -> Result<(), Error> {
        self.put::<FixedLenByteArrayType>(&id_bytes(values), None)
    }

    /// A column of lists of numbers.
    pub fn long_lists<'a>(&mut self, lists: impl Iterator<Item = &'a [i64]>) -> Result<(), Error> {
        let (mut values, mut levels) = (Vec::new(), Levels::default());
        for list in lists {
            levels.list(list.len());
            values.extend_from_slice(list);
        }
        self.put::<Int64Type>(&values, Some(&levels))
    }

    /// A column of lists of texts.
    pub fn text_lists(
        &mut self,
        texts: &Texts,
        lists: impl Iterator<Item = Vec<Text>>,
    ) -> Result<(), Error> {
        let (mut values, mut levels) = (Vec::new(), Levels::default());
        for list in lists {
            levels.list(list.len());
            values.extend(list.into_iter().map(|text| self.made(texts, text)));
        }
        self.put::<ByteArrayType>(&values, Some(&levels))
    }

    fn made(&mut self, texts: &Texts, text: Text) -> ByteArray {
        let at = text as usize;
        if self.made.len() <= at {
            self.made.resize(at + 1, None);
        }
        let made = || ByteArray::from(texts.get(text));
        self.made[at].get_or_insert_with(made).clone()
    }

    fn put<T: DataType>(&mut self, values: &[T::T], levels: Option<&Levels>) -> Result<(), Error> {
        let Some(mut column) = self.group.next_column()? else {
            let why = "more columns than the schema has".to_owned();
            return Err(parquet::errors::ParquetError::General(why).into());
        };
        let (definitions, repetitions) = match levels {
            Some(levels) => (Some(&levels.definitions[..]), Some(&levels.repetitions[..])),
            None => (None, None),
        };
        (column.typed::<T>()).write_batch(values, definitions, repetitions)?;
        column.close()?;
        Ok(())
    }
}

/// The levels of lists that are always there and may be empty.
#[derive(Default)]
struct Levels {
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl Levels {
    fn list(&mut self, length: usize) {
        self.definitions.push(i16::from(length > 0));
        self.repetitions.push(0);
        for _ in 1..length {
            self.definitions.push(1);
            self.repetitions.push(1);
        }
    }
}

/// Ids as slices of one buffer.
fn id_bytes(ids: impl Iterator<Item = Id>) -> Vec<FixedLenByteArray> {
    let bytes: Vec<u8> = ids.flat_map(Id::to_be_bytes).collect();
    let bytes = Bytes::from(bytes);
    let starts = (0..bytes.len()).step_by(16);
    starts
        .map(|start| ByteArray::from(bytes.slice(start..start + 16)).into())
        .collect()
}
