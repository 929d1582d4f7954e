//! An object store that speaks S3. One request writes an object, so it is there whole or not at
//! all.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutPayload, RetryConfig};
use tokio::runtime::Runtime;

use super::{Entry, Store};
use crate::Error;

/// The time after which a store counts as away.
const PATIENCE: Duration = Duration::from_secs(15);

/// A bucket, or what lies below a prefix in it.
#[derive(Debug)]
pub struct S3 {
    objects: Arc<dyn ObjectStore>,
    prefix: String,
    address: String,
    runtime: Runtime,
}

impl S3 {
    /// The store at `s3://bucket/prefix`. Keys, region and endpoint are those of the environment, as
    /// for Amazon's own tools: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`,
    /// `AWS_ENDPOINT`, or the role of the machine.
    pub fn from_environment(address: &str) -> Result<Self, Error> {
        Self::new(address, AmazonS3Builder::from_env())
    }

    /// The store at `s3://bucket/prefix`, with these settings.
    pub fn new(address: &str, settings: AmazonS3Builder) -> Result<Self, Error> {
        let failed = |source| failed("open", address, source);
        // It fails where the caller has chosen another one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let rest = address.strip_prefix("s3://").unwrap_or(address);
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let retries = RetryConfig {
            max_retries: 3,
            retry_timeout: PATIENCE,
            ..RetryConfig::default()
        };
        let objects = settings
            .with_bucket_name(bucket)
            .with_retry(retries)
            .build();
        let objects = objects.map_err(|error| failed(error.into()))?;
        let prefix = prefix.trim_matches('/');
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build();
        Ok(Self {
            objects: Arc::new(objects),
            prefix: if prefix.is_empty() {
                String::new()
            } else {
                format!("{prefix}/")
            },
            address: address.to_owned(),
            runtime: runtime.map_err(failed)?,
        })
    }

    fn path(&self, path: &str) -> Result<Path, Error> {
        let path = format!("{}{path}", self.prefix);
        Path::parse(&path).map_err(|error| failed("name", &path, std::io::Error::other(error)))
    }

    fn failed(&self, verb: &'static str, path: &str, error: object_store::Error) -> Error {
        let path = format!("{}/{path}", self.address.trim_end_matches('/'));
        match error {
            object_store::Error::NotFound { .. } if verb == "write" => failed(
                verb,
                &path,
                std::io::Error::other("there is no such bucket"),
            ),
            object_store::Error::NotFound { .. } => Error::Gone { path },
            error => failed(verb, &path, std::io::Error::other(reason(&error))),
        }
    }
}

impl Store for S3 {
    fn list(&self, folder: &str) -> Result<Vec<Entry>, Error> {
        let prefix = self.path(folder.trim_end_matches('/'))?;
        let listed = self.objects.list(Some(&prefix)).try_collect();
        let listed: Vec<object_store::ObjectMeta> =
            (self.runtime.block_on(listed)).map_err(|error| self.failed("list", folder, error))?;
        let entries = listed.into_iter().filter_map(|meta| {
            let path = meta.location.as_ref().strip_prefix(&self.prefix)?;
            Some(Entry {
                path: path.to_owned(),
                size: meta.size,
            })
        });
        let mut entries: Vec<Entry> = entries.collect();
        entries.sort();
        Ok(entries)
    }

    fn read(&self, path: &str, range: Range<u64>) -> Result<Bytes, Error> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let place = self.path(path)?;
        let read = self.runtime.block_on(self.objects.get_range(&place, range));
        read.map_err(|error| self.failed("read", path, error))
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        let place = self.path(path)?;
        let put = self.objects.put(&place, PutPayload::from(bytes.to_vec()));
        let put = self.runtime.block_on(put);
        put.map(drop)
            .map_err(|error| self.failed("write", path, error))
    }

    fn put_new(&self, path: &str, bytes: &[u8]) -> Result<bool, Error> {
        let place = self.path(path)?;
        let payload = PutPayload::from(bytes.to_vec());
        let put = self
            .objects
            .put_opts(&place, payload, PutMode::Create.into());
        match self.runtime.block_on(put) {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(self.failed("write", path, error)),
        }
    }

    fn delete(&self, path: &str) -> Result<(), Error> {
        let place = self.path(path)?;
        match self.runtime.block_on(self.objects.delete(&place)) {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed("delete", path, error)),
        }
    }
}

/// The reason at the end of a chain of them: before it stand the request and its repetitions.
fn reason(error: &object_store::Error) -> String {
    const MOST: usize = 300;
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text = inner.to_string();
        source = inner.source();
    }
    let last = text.rsplit(" - ").next().unwrap_or_default();
    last.chars().take(MOST).collect()
}

fn failed(verb: &'static str, path: &str, source: std::io::Error) -> Error {
    Error::Store {
        verb,
        path: path.to_owned(),
        source,
    }
}
