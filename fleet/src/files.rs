//! A table of the files that a question needs: a list, so that all machines read the same ones.
//!
//! The list goes to the scheduler as it is. Nothing is listed or looked at there.

use std::any::Any;
use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::serde::BallistaLogicalExtensionCodec;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result, ScalarValue, TableReference};
use datafusion::datasource::TableType;
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::TaskContext;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use object_store::path::Path;
use serde::{Deserialize, Serialize};

/// The column with the part of the question that a row's file belongs to.
pub const PART: &str = "part";

/// A file of samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleFile {
    /// The part of the question that it belongs to.
    pub part: i32,
    /// The path within the folders of the machine, or within the bucket.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
}

/// A table of samples in these files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleFiles {
    /// `file:///`, or `s3://bucket/`.
    pub place: String,
    /// The files.
    pub files: Vec<SampleFile>,
}

/// The columns of samples, as `docs/fleet.md` has them.
fn columns() -> SchemaRef {
    let column = |name: &str, of: DataType| Field::new(name, of, false);
    let milliseconds = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    Arc::new(Schema::new(vec![
        column("service", DataType::Utf8),
        column("ts", milliseconds),
        column("type", DataType::Utf8),
        column("series", DataType::Int64),
        column("stack", DataType::FixedSizeBinary(16)),
        column("value", DataType::Int64),
        column("count", DataType::Int64),
        column("spread", DataType::Int32),
        column("state", DataType::Utf8),
        column("gil", DataType::Utf8),
        column("span", DataType::Utf8),
    ]))
}

fn table_schema() -> TableSchema {
    let part = Field::new(PART, DataType::Int32, false);
    TableSchema::builder(columns())
        .with_table_partition_cols(vec![Arc::new(part)])
        .build()
}

impl SampleFiles {
    /// The files in at most this number of groups, of about the same size. Neighbours go into
    /// different groups, because they are alike: hours of much work stand together.
    fn groups(&self, most: usize) -> Result<Vec<FileGroup>> {
        let count = self.files.len().clamp(1, most.max(1));
        let mut files: Vec<&SampleFile> = self.files.iter().collect();
        files.sort_by(|one, other| (other.size, &one.path).cmp(&(one.size, &other.path)));
        let mut groups: Vec<(u64, Vec<PartitionedFile>)> = vec![(0, Vec::new()); count];
        for file in files {
            let mut partitioned = PartitionedFile::new("", file.size)
                .with_partition_values(vec![ScalarValue::Int32(Some(file.part))]);
            partitioned.object_meta.location = Path::parse(&file.path)?;
            let least = groups.iter_mut().min_by_key(|(size, _)| *size);
            if let Some((size, group)) = least {
                *size += file.size.max(1);
                group.push(partitioned);
            }
        }
        Ok(groups
            .into_iter()
            .map(|(_, files)| FileGroup::new(files))
            .collect())
    }
}

#[async_trait]
impl TableProvider for SampleFiles {
    fn schema(&self) -> SchemaRef {
        Arc::clone(table_schema().table_schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if self.files.is_empty() {
            let schema = match projection {
                Some(columns) => Arc::new(self.schema().project(columns)?),
                None => self.schema(),
            };
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        // The conditions stand above the scan, and are brought into it by the optimizer.
        let source = Arc::new(ParquetSource::new(table_schema()));
        let place = ObjectStoreUrl::parse(&self.place)?;
        let config = FileScanConfigBuilder::new(place, source)
            .with_file_groups(self.groups(state.config().target_partitions())?)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }
}

/// Plans with [`SampleFiles`] on their way to the scheduler.
#[derive(Debug, Default)]
pub struct FilesCodec(BallistaLogicalExtensionCodec);

impl LogicalExtensionCodec for FilesCodec {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[LogicalPlan],
        context: &TaskContext,
    ) -> Result<Extension> {
        self.0.try_decode(bytes, inputs, context)
    }

    fn try_encode(&self, node: &Extension, bytes: &mut Vec<u8>) -> Result<()> {
        self.0.try_encode(node, bytes)
    }

    fn try_decode_table_provider(
        &self,
        bytes: &[u8],
        _table: &TableReference,
        _schema: SchemaRef,
        _context: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        let files: SampleFiles = serde_json::from_slice(bytes).map_err(external)?;
        Ok(Arc::new(files))
    }

    fn try_encode_table_provider(
        &self,
        table: &TableReference,
        provider: Arc<dyn TableProvider>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let any: &dyn Any = provider.as_ref();
        match any.downcast_ref::<SampleFiles>() {
            Some(files) => serde_json::to_writer(bytes, files).map_err(external),
            None => self.0.try_encode_table_provider(table, provider, bytes),
        }
    }

    fn try_decode_file_format(
        &self,
        bytes: &[u8],
        context: &TaskContext,
    ) -> Result<Arc<dyn FileFormatFactory>> {
        self.0.try_decode_file_format(bytes, context)
    }

    fn try_encode_file_format(
        &self,
        bytes: &mut Vec<u8>,
        format: Arc<dyn FileFormatFactory>,
    ) -> Result<()> {
        self.0.try_encode_file_format(bytes, format)
    }
}

fn external(error: serde_json::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(sizes: &[u64]) -> SampleFiles {
        let file = |(at, &size): (usize, &u64)| SampleFile {
            part: at as i32,
            path: format!("store/{at}.parquet"),
            size,
        };
        SampleFiles {
            place: "file:///".to_owned(),
            files: sizes.iter().enumerate().map(file).collect(),
        }
    }

    #[test]
    fn groups_have_all_files_and_about_the_same_size() {
        let files = files(&[100, 1, 1, 50, 50, 1, 99]);
        let groups = files.groups(3).unwrap();
        let sizes = groups
            .iter()
            .map(|group| group.iter().map(|file| file.object_meta.size));
        let mut sizes: Vec<u64> = sizes.map(Iterator::sum).collect();
        sizes.sort();
        assert_eq!(sizes, [100, 101, 101]);
        assert_eq!(files.groups(100).unwrap().len(), 7);
    }

    #[test]
    fn a_table_goes_to_the_scheduler_and_comes_back() {
        let files = files(&[3, 4]);
        let codec = FilesCodec::default();
        let table = TableReference::bare("samples");
        let mut bytes = Vec::new();
        codec
            .try_encode_table_provider(&table, Arc::new(files.clone()), &mut bytes)
            .unwrap();
        let context = TaskContext::default();
        let again = codec
            .try_decode_table_provider(&bytes, &table, files.schema(), &context)
            .unwrap();
        let again: &dyn Any = again.as_ref();
        assert_eq!(again.downcast_ref::<SampleFiles>(), Some(&files));
        let cut = codec.try_decode_table_provider(&bytes[..9], &table, files.schema(), &context);
        assert!(cut.is_err());
    }
}
