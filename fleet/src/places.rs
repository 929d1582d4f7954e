//! Where files lie, for DataFusion: folders of the machine, and buckets that speak S3 with the keys
//! of the environment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use profundo_store::Entry;
use url::Url;

/// Folders and buckets, each opened once.
#[derive(Debug, Default)]
pub struct Places(Mutex<HashMap<String, Arc<dyn ObjectStore>>>);

impl ObjectStoreRegistry for Places {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        let mut stores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stores.insert(name(url), store)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let mut stores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = stores.get(&name(url)) {
            return Ok(Arc::clone(known));
        }
        let store: Arc<dyn ObjectStore> = match url.scheme() {
            "file" => Arc::new(LocalFileSystem::new()),
            "s3" => {
                // It fails where one was chosen already.
                let _ = rustls::crypto::ring::default_provider().install_default();
                let bucket = url.host_str().unwrap_or_default();
                let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
                Arc::new(builder.build()?)
            }
            other => return exec_err!("no files are read from {other}://"),
        };
        stores.insert(name(url), Arc::clone(&store));
        Ok(store)
    }
}

fn name(url: &Url) -> String {
    format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default())
}

/// What plans run in, with these files within reach. Temporary files go to `folder`.
pub fn runtime(folder: Option<&std::path::Path>) -> Result<Arc<RuntimeEnv>> {
    let mut builder =
        RuntimeEnvBuilder::new().with_object_store_registry(Arc::new(Places::default()));
    if let Some(folder) = folder {
        builder = builder.with_temp_file_path(folder);
    }
    Ok(Arc::new(builder.build()?))
}

/// The place of a store, as DataFusion names it, and the path of each of its files there.
pub struct Root {
    /// `file:///`, or `s3://bucket/`.
    pub place: String,
    folder: String,
}

impl Root {
    /// The root of a store at a folder, or at `s3://bucket/prefix`.
    pub fn of(place: &str) -> Result<Self> {
        if let Some(rest) = place.strip_prefix("s3://") {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            return Ok(Self {
                place: format!("s3://{bucket}/"),
                folder: prefix.trim_matches('/').to_owned(),
            });
        }
        let folder = std::path::absolute(place)?;
        let folder = Path::from_absolute_path(folder)
            .map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(Self {
            place: "file:///".to_owned(),
            folder: folder.as_ref().to_owned(),
        })
    }

    /// The path of a file of the store.
    pub fn path(&self, entry: &Entry) -> String {
        match self.folder.as_str() {
            "" => entry.path.clone(),
            folder => format!("{folder}/{}", entry.path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_path_at_each_kind_of_place() {
        let entry = Entry {
            path: "samples/a.parquet".to_owned(),
            size: 1,
        };
        for (place, root, path) in [
            ("/srv/a b", "file:///", "srv/a b/samples/a.parquet"),
            ("/", "file:///", "samples/a.parquet"),
            ("s3://bucket", "s3://bucket/", "samples/a.parquet"),
            ("s3://bucket/x/y/", "s3://bucket/", "x/y/samples/a.parquet"),
        ] {
            let found = Root::of(place).unwrap();
            assert_eq!(
                (found.place.as_str(), found.path(&entry).as_str()),
                (root, path)
            );
        }
    }
}
