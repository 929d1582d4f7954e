//! Tables in the formats of data frames.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Stored};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type as Schema;
use serde_json::Value;

use crate::columns::{Column, Type, columns, text};
use crate::{Error, Table};

/// Writes a table as CSV: a line of names, then a line for each row. What is not known is empty.
pub fn write_csv(table: &Table, out: &mut dyn Write) -> Result<(), Error> {
    let columns = columns(&table.rows);
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(columns.iter().map(|column| &column.name))?;
    for row in &table.rows {
        let cells = columns
            .iter()
            .map(|column| row.get(&column.name).and_then(text));
        writer.write_record(cells.map(Option::unwrap_or_default))?;
    }
    writer.flush()?;
    Ok(())
}

/// Writes tables as JSON lines: an object for each row, which begins with the table's name.
pub fn write_json_lines(tables: &[&Table], out: &mut dyn Write) -> Result<(), Error> {
    for table in tables {
        for row in &table.rows {
            let mut line = serde_json::Map::new();
            line.insert("table".to_owned(), Value::String(table.name.clone()));
            line.extend(
                row.iter()
                    .map(|(name, value)| (name.clone(), value.clone())),
            );
            serde_json::to_writer(&mut *out, &line)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// Writes a table as Parquet, with a type for each column. What is not known is null.
pub fn write_parquet(table: &Table, out: &mut (dyn Write + Send)) -> Result<(), Error> {
    let columns = columns(&table.rows);
    let fields = columns.iter().map(|column| field(column).map(Arc::new));
    let schema = Schema::group_type_builder(&table.name)
        .with_fields(fields.collect::<Result<_, Error>>()?)
        .build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("profundo {}", env!("CARGO_PKG_VERSION")));
    let properties = Arc::new(properties.build());
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), properties)?;
    let mut group = file.next_row_group()?;
    for column in &columns {
        let cells = || {
            table
                .rows
                .iter()
                .map(|row| row.get(&column.name).unwrap_or(&Value::Null))
        };
        match column.of {
            Type::Integer => put::<Int64Type>(&mut group, cells().map(Value::as_i64))?,
            Type::Float => put::<DoubleType>(&mut group, cells().map(Value::as_f64))?,
            Type::Truth => put::<BoolType>(&mut group, cells().map(Value::as_bool))?,
            Type::Text => {
                let texts =
                    cells().map(|value| text(value).map(|text| ByteArray::from(text.into_bytes())));
                put::<ByteArrayType>(&mut group, texts)?;
            }
        }
    }
    group.close()?;
    file.close()?;
    Ok(())
}

fn field(column: &Column) -> Result<Schema, Error> {
    let (stored, logical) = match column.of {
        Type::Integer => (Stored::INT64, None),
        Type::Float => (Stored::DOUBLE, None),
        Type::Truth => (Stored::BOOLEAN, None),
        Type::Text => (Stored::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let field = Schema::primitive_type_builder(&column.name, stored);
    let field = field
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical);
    Ok(field.build()?)
}

/// Writes a column. A level of 1 is a value, one of 0 a null.
fn put<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut (dyn Write + Send)>,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<(), Error> {
    let cells: Vec<Option<T::T>> = cells.collect();
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<T::T> = cells.into_iter().flatten().collect();
    let mut column = group.next_column()?.ok_or(Error::Nothing)?;
    column
        .typed::<T>()
        .write_batch(&values, Some(&levels), None)?;
    column.close()?;
    Ok(())
}
