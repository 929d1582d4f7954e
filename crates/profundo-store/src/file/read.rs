//! Parquet to columns. What a file says of itself is checked against its size before anything is
//! allocated for it, and a panic of the `parquet` crate is an error like others.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Type as Physical};
use parquet::column::reader::{ColumnReaderImpl, get_column_reader, get_typed_column_reader};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType,
    Int32Type, Int64Type,
};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::file::statistics::Statistics;
use rustc_hash::FxHashMap;

use super::chunk::{Chunk, is_structure};
use super::column::Column;
use super::write::VERSION_KEY;
use crate::Error;
use crate::ids::Id;
use crate::store::{Entry, Store};
use crate::table::{Table, VERSION};
use crate::texts::{Text, Texts};

/// Files up to this size are read at once.
const SMALL: u64 = 1 << 20;
/// The bytes that are read from the end of larger ones.
const TAIL: u64 = 128 << 10;
/// The most bytes of a row group. Ours have a few millions.
const MOST_OF_GROUP: u64 = 512 << 20;
/// The most rows for each byte of a file.
const ROWS_OF_BYTE: u64 = 64;

/// A file whose metadata were read.
#[derive(Debug)]
pub struct Opened<'s> {
    store: &'s dyn Store,
    path: String,
    size: u64,
    table: &'static str,
    metadata: ParquetMetaData,
    /// The contents of a small file.
    whole: Option<Bytes>,
}

/// A row group.
#[derive(Debug)]
pub struct Group<'f> {
    file: &'f Opened<'f>,
    metadata: &'f RowGroupMetaData,
    chunk: Arc<Chunk>,
}

impl<'s> Opened<'s> {
    /// Opens a file of the table `T`.
    pub fn new<T: Table>(store: &'s dyn Store, entry: &Entry) -> Result<Self, Error> {
        let (path, size) = (entry.path.clone(), entry.size);
        let damaged = |why: &str| damaged(&path, why);
        let is_small = size <= SMALL;
        let start = if is_small { 0 } else { size - TAIL };
        let mut tail = store.read(&path, start..size)?;
        if tail.len() as u64 != size - start {
            return Err(damaged("it is shorter than the list of files says"));
        }
        let footer = footer_length(&tail).ok_or_else(|| damaged("it is no Parquet file"))?;
        if footer + 8 > size {
            return Err(damaged("its metadata are longer than the file"));
        }
        if footer + 8 > tail.len() as u64 {
            tail = store.read(&path, size - footer - 8..size)?;
        }
        let end = tail.len() - 8;
        let footer = tail.slice(end - footer as usize..end);
        if !is_structure(&footer) {
            return Err(damaged("its metadata are no structure"));
        }
        let metadata = guarded(&path, || ParquetMetaDataReader::decode_metadata(&footer))?;
        let opened = Self {
            store,
            path,
            size,
            table: T::NAME,
            metadata,
            whole: is_small.then_some(tail),
        };
        opened.check()?;
        Ok(opened)
    }

    /// Checks the version, and every size that the file states.
    fn check(&self) -> Result<(), Error> {
        if let Some(version) = self.fact(VERSION_KEY)
            && version
                .parse::<u32>()
                .map_or(true, |version| version > VERSION)
        {
            return Err(Error::Version {
                path: self.path.clone(),
                version: version.to_owned(),
                known: VERSION,
            });
        }
        let most_rows = self.size.saturating_mul(ROWS_OF_BYTE);
        let mut rows = 0_u64;
        for group in self.metadata.row_groups() {
            let these = u64::try_from(group.num_rows()).unwrap_or(u64::MAX);
            rows = rows.saturating_add(these);
            let bytes = self
                .range_of(group)
                .ok_or_else(|| self.damaged("a row group lies outside"))?;
            if rows > most_rows || bytes.end - bytes.start > MOST_OF_GROUP {
                return Err(self.damaged("it states sizes that it cannot have"));
            }
            for column in group.columns() {
                let values = u64::try_from(column.num_values()).unwrap_or(u64::MAX);
                let is_known = matches!(
                    column.compression(),
                    Compression::UNCOMPRESSED | Compression::LZ4_RAW | Compression::SNAPPY
                );
                if !is_known {
                    let why = format!("its columns are packed by {}", column.compression());
                    return Err(self.damaged(&why));
                }
                if values > most_rows {
                    return Err(self.damaged("it states sizes that it cannot have"));
                }
            }
        }
        Ok(())
    }

    /// A fact of the file's metadata.
    pub fn fact(&self, key: &str) -> Option<&str> {
        let facts = self.metadata.file_metadata().key_value_metadata()?;
        let known = facts.iter().find(|fact| fact.key == key)?;
        known.value.as_deref()
    }

    /// The number of row groups.
    pub fn groups(&self) -> usize {
        self.metadata.num_row_groups()
    }

    /// The least and the greatest text of a column in a row group, if that is known.
    pub fn texts_of(&self, group: usize, column: &str) -> Option<(&[u8], &[u8])> {
        let group = self.metadata.row_group(group);
        match group.column(place_of(group, column)?).statistics()? {
            Statistics::ByteArray(of) => Some((of.min_opt()?.data(), of.max_opt()?.data())),
            _ => None,
        }
    }

    /// The least and the greatest number of a column in a row group, if that is known.
    pub fn longs_of(&self, group: usize, column: &str) -> Option<(i64, i64)> {
        let group = self.metadata.row_group(group);
        match group.column(place_of(group, column)?).statistics()? {
            Statistics::Int64(of) => Some((*of.min_opt()?, *of.max_opt()?)),
            _ => None,
        }
    }

    /// Reads the bytes of a row group.
    pub fn group(&self, group: usize) -> Result<Group<'_>, Error> {
        let metadata = self.metadata.row_group(group);
        let range = self.range_of(metadata).unwrap_or(0..0);
        let bytes = match &self.whole {
            Some(whole) => whole.slice(range.start as usize..range.end as usize),
            None => self.store.read(&self.path, range.clone())?,
        };
        let start = range.start;
        Ok(Group {
            file: self,
            metadata,
            chunk: Arc::new(Chunk { start, bytes }),
        })
    }

    /// The rows of all row groups.
    pub fn rows<T: Table>(&self, texts: &mut Texts) -> Result<Vec<T>, Error> {
        let mut rows = Vec::new();
        for group in 0..self.groups() {
            let group = self.group(group)?;
            rows.extend(T::read(&group, 0..group.rows(), texts)?);
        }
        Ok(rows)
    }

    /// The place of a row group in the file, if it lies in it.
    fn range_of(&self, group: &RowGroupMetaData) -> Option<Range<u64>> {
        let mut all: Option<Range<u64>> = None;
        for column in group.columns() {
            let offset = column.dictionary_page_offset();
            let start = offset.unwrap_or(column.data_page_offset());
            let start = u64::try_from(start).ok()?;
            let end = start.checked_add(u64::try_from(column.compressed_size()).ok()?)?;
            if end > self.size {
                return None;
            }
            all = Some(match all {
                Some(all) => all.start.min(start)..all.end.max(end),
                None => start..end,
            });
        }
        all
    }

    fn damaged(&self, why: &str) -> Error {
        damaged(&self.path, why)
    }
}

impl Group<'_> {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        usize::try_from(self.metadata.num_rows()).unwrap_or(0)
    }

    /// Numbers.
    pub fn longs(&self, name: &'static str, rows: Range<usize>) -> Result<Column<i64>, Error> {
        let at = self.place(name, Physical::INT64)?;
        if let Some(Statistics::Int64(of)) = self.statistics(at)
            && let (Some(least), Some(most)) = (of.min_opt(), of.max_opt())
            && least == most
        {
            return Ok(Column::Same(*least));
        }
        Ok(Column::Each(self.flat::<Int64Type>(name, at, rows)?))
    }

    /// Small numbers.
    pub fn ints(&self, name: &'static str, rows: Range<usize>) -> Result<Column<i32>, Error> {
        let at = self.place(name, Physical::INT32)?;
        if let Some(Statistics::Int32(of)) = self.statistics(at)
            && let (Some(least), Some(most)) = (of.min_opt(), of.max_opt())
            && least == most
        {
            return Ok(Column::Same(*least));
        }
        Ok(Column::Each(self.flat::<Int32Type>(name, at, rows)?))
    }

    /// Truths.
    pub fn truths(&self, name: &'static str, rows: Range<usize>) -> Result<Vec<bool>, Error> {
        let at = self.place(name, Physical::BOOLEAN)?;
        self.flat::<BoolType>(name, at, rows)
    }

    /// Texts.
    pub fn texts(
        &self,
        name: &'static str,
        rows: Range<usize>,
        texts: &mut Texts,
    ) -> Result<Column<Text>, Error> {
        let at = self.place(name, Physical::BYTE_ARRAY)?;
        if let Some(Statistics::ByteArray(of)) = self.statistics(at)
            && let (Some(least), Some(most)) = (of.min_opt(), of.max_opt())
            && least == most
            && of.min_is_exact()
            && of.max_is_exact()
        {
            return Ok(Column::Same(self.text(least.data(), texts)?));
        }
        let values = self.flat::<ByteArrayType>(name, at, rows)?;
        Ok(Column::Each(self.numbered(&values, texts)?))
    }

    /// Ids.
    pub fn ids(&self, name: &'static str, rows: Range<usize>) -> Result<Vec<Id>, Error> {
        /// So many at a time stay in the processor's cache.
        const BATCH: usize = 2048;
        let at = self.place(name, Physical::FIXED_LEN_BYTE_ARRAY)?;
        let descriptor = self.metadata.column(at).column_descr_ptr();
        if descriptor.max_def_level() > 0 {
            let values = self.flat::<FixedLenByteArrayType>(name, at, rows)?;
            return values.iter().map(|value| self.id(value)).collect();
        }
        let length = rows.len();
        let ids = guarded(&self.file.path, || {
            let mut reader = self.reader::<FixedLenByteArrayType>(at)?;
            reader.skip_records(rows.start)?;
            let (mut ids, mut values) = (Vec::new(), Vec::new());
            while ids.len() < length {
                let wanted = BATCH.min(length - ids.len());
                values.clear();
                let (read, ..) = reader.read_records(wanted, None, None, &mut values)?;
                if read == 0 {
                    break;
                }
                ids.extend(values.iter().map(id_of));
            }
            Ok(ids)
        })?;
        if ids.len() != length {
            return Err(self.file.damaged("a column is shorter than its row group"));
        }
        let ids: Option<Vec<Id>> = ids.into_iter().collect();
        ids.ok_or_else(|| self.file.damaged("an id of another length"))
    }

    /// Lists of numbers.
    pub fn long_lists(
        &self,
        name: &'static str,
        rows: Range<usize>,
    ) -> Result<Vec<Vec<i64>>, Error> {
        let at = self.place(name, Physical::INT64)?;
        let (values, lengths) = self.lists::<Int64Type>(name, at, rows)?;
        Ok(split(&values, &lengths))
    }

    /// Lists of texts.
    pub fn text_lists(
        &self,
        name: &'static str,
        rows: Range<usize>,
        texts: &mut Texts,
    ) -> Result<Vec<Vec<Text>>, Error> {
        let at = self.place(name, Physical::BYTE_ARRAY)?;
        let (values, lengths) = self.lists::<ByteArrayType>(name, at, rows)?;
        Ok(split(&self.numbered(&values, texts)?, &lengths))
    }

    fn id(&self, value: &FixedLenByteArray) -> Result<Id, Error> {
        id_of(value).ok_or_else(|| self.file.damaged("an id of another length"))
    }

    fn text(&self, bytes: &[u8], texts: &mut Texts) -> Result<Text, Error> {
        let text = std::str::from_utf8(bytes);
        let text = text.map_err(|_| self.file.damaged("a text that is no UTF-8"))?;
        Ok(texts.add(text))
    }

    /// The numbers of texts. Equal ones of a dictionary lie at one place.
    fn numbered(&self, values: &[ByteArray], texts: &mut Texts) -> Result<Vec<Text>, Error> {
        let mut known: FxHashMap<(usize, usize), Text> = FxHashMap::default();
        let mut last = ((0, 0), 0);
        let number = |value: &ByteArray| {
            let bytes = value.data();
            let place = (bytes.as_ptr() as usize, bytes.len());
            if place == last.0 {
                return Ok(last.1);
            }
            let number = match known.get(&place) {
                Some(&number) => number,
                None => {
                    let number = self.text(bytes, texts)?;
                    known.insert(place, number);
                    number
                }
            };
            last = (place, number);
            Ok(number)
        };
        values.iter().map(number).collect()
    }

    /// The place of a column, which must have this type.
    fn place(&self, name: &'static str, physical: Physical) -> Result<usize, Error> {
        let place = place_of(self.metadata, name);
        let place = place.ok_or_else(|| self.foreign(name, "is missing"))?;
        match self.metadata.column(place).column_type() == physical {
            true => Ok(place),
            false => Err(self.foreign(name, "has another type")),
        }
    }

    fn foreign(&self, column: &'static str, lacks: &'static str) -> Error {
        Error::Foreign {
            path: self.file.path.clone(),
            table: self.file.table,
            column,
            lacks,
        }
    }

    /// The statistics of a column, if they speak for all of its rows.
    fn statistics(&self, at: usize) -> Option<&Statistics> {
        let column = self.metadata.column(at);
        let descriptor = column.column_descr();
        let is_flat = descriptor.max_rep_level() == 0 && descriptor.max_def_level() == 0;
        column.statistics().filter(|_| is_flat)
    }

    fn reader<T: DataType>(&self, at: usize) -> parquet::errors::Result<ColumnReaderImpl<T>> {
        let column = self.metadata.column(at);
        let chunk = Arc::clone(&self.chunk);
        let (start, length) = column.byte_range();
        chunk.check_pages(start, usize::try_from(length).unwrap_or(usize::MAX))?;
        let pages = SerializedPageReader::new(chunk, column, self.rows(), None)?;
        let reader = get_column_reader(column.column_descr_ptr(), Box::new(pages));
        Ok(get_typed_column_reader(reader))
    }

    /// The values of a column without lists. Where there is none, it is the type's default.
    fn flat<T: DataType>(
        &self,
        name: &'static str,
        at: usize,
        rows: Range<usize>,
    ) -> Result<Vec<T::T>, Error> {
        let descriptor = self.metadata.column(at).column_descr_ptr();
        if descriptor.max_rep_level() > 0 || descriptor.max_def_level() > 1 {
            return Err(self.foreign(name, "is a list or a part of another one"));
        }
        let is_optional = descriptor.max_def_level() == 1;
        let (values, levels) = guarded(&self.file.path, || {
            let mut reader = self.reader::<T>(at)?;
            let (mut values, mut levels) = (Vec::new(), Vec::new());
            reader.skip_records(rows.start)?;
            let mut left = rows.len();
            while left > 0 {
                let wanted = Some(&mut levels).filter(|_| is_optional);
                let (read, ..) = reader.read_records(left, wanted, None, &mut values)?;
                if read == 0 {
                    break;
                }
                left -= read;
            }
            Ok((values, levels))
        })?;
        let values: Vec<T::T> = match is_optional {
            true => {
                let mut values = values.into_iter();
                let value = |level: i16| match level {
                    0 => T::T::default(),
                    _ => values.next().unwrap_or_default(),
                };
                levels.into_iter().map(value).collect()
            }
            false => values,
        };
        match values.len() == rows.len() {
            true => Ok(values),
            false => Err(self.file.damaged("a column is shorter than its row group")),
        }
    }

    /// The values of a column of lists, and the length of each list.
    fn lists<T: DataType>(
        &self,
        name: &'static str,
        at: usize,
        rows: Range<usize>,
    ) -> Result<(Vec<T::T>, Vec<usize>), Error> {
        let descriptor = self.metadata.column(at).column_descr_ptr();
        if descriptor.max_rep_level() != 1 || descriptor.max_def_level() < 1 {
            return Err(self.foreign(name, "is no list"));
        }
        let whole = descriptor.max_def_level();
        let (values, levels, repeats) = guarded(&self.file.path, || {
            let mut reader = self.reader::<T>(at)?;
            let (mut values, mut levels, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
            reader.skip_records(rows.start)?;
            let mut left = rows.len();
            while left > 0 {
                let (read, _, found) = reader.read_records(
                    left,
                    Some(&mut levels),
                    Some(&mut repeats),
                    &mut values,
                )?;
                if read == 0 && found == 0 {
                    break;
                }
                left = left.saturating_sub(read);
            }
            Ok((values, levels, repeats))
        })?;
        let mut lengths: Vec<usize> = Vec::with_capacity(rows.len().min(levels.len()));
        for (level, repeat) in levels.into_iter().zip(repeats) {
            if repeat == 0 {
                lengths.push(0);
            }
            if let Some(length) = lengths.last_mut() {
                *length += usize::from(level == whole);
            }
        }
        match lengths.len() == rows.len() && lengths.iter().sum::<usize>() == values.len() {
            true => Ok((values, lengths)),
            false => Err(self.file.damaged("a column is shorter than its row group")),
        }
    }
}

fn id_of(value: &FixedLenByteArray) -> Option<Id> {
    Some(Id::from_be_bytes(value.data().try_into().ok()?))
}

fn place_of(group: &RowGroupMetaData, name: &str) -> Option<usize> {
    let is = |path: &[String]| path.iter().map(String::as_str).eq(name.split('.'));
    let columns = group.columns().iter();
    columns
        .enumerate()
        .find(|(_, column)| is(column.column_path().parts()))
        .map(|(at, _)| at)
}

fn split<T: Copy>(values: &[T], lengths: &[usize]) -> Vec<Vec<T>> {
    let mut rest = values;
    let part = |&length: &usize| {
        let (part, behind) = rest.split_at(length.min(rest.len()));
        rest = behind;
        part.to_vec()
    };
    lengths.iter().map(part).collect()
}

/// The length of the metadata, from the last bytes of a file.
fn footer_length(tail: &[u8]) -> Option<u64> {
    let (_, last) = tail.split_last_chunk::<8>()?;
    let (length, magic) = last.split_first_chunk::<4>()?;
    (magic == b"PAR1").then_some(u64::from(u32::from_le_bytes(*length)))
}

fn damaged(path: &str, why: &str) -> Error {
    Error::Damaged {
        path: path.to_owned(),
        why: why.to_owned(),
    }
}

/// Runs the `parquet` crate on bytes that may be anything.
fn guarded<T>(path: &str, read: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T, Error> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(read)) => Ok(read),
        Ok(Err(error)) => Err(damaged(path, &error.to_string())),
        Err(_) => Err(damaged(path, "its reader gave up")),
    }
}
