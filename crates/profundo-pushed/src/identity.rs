//! Whose profile it is, by the names that OpenTelemetry, Pyroscope and others have for it.

use profundo_store::Identity;

use crate::About;

/// A service that has no name.
pub(crate) const UNKNOWN: &str = "unknown_service";
/// The most further labels of a source, and the longest text of one.
const MOST: usize = 48;
const LONGEST: usize = 1024;

/// Takes a label of a source. Its name may be one of those that the store has a column for.
pub(crate) fn label(identity: &mut Identity, key: &str, value: &str) {
    let value = short(value);
    let column = match &key.to_ascii_lowercase().replace('.', "_")[..] {
        "service_name" | "service" => &mut identity.service,
        "host_name" | "hostname" | "host" => &mut identity.host,
        "service_version" | "version" => &mut identity.version,
        "container_id" | "container" | "container_name" => &mut identity.container,
        "k8s_pod_name" | "pod" | "pod_name" => &mut identity.pod,
        _ => {
            // Those that begin with underscores are of the tools themselves.
            let is_new = !identity.labels.iter().any(|(known, _)| known == key);
            if is_new && !key.is_empty() && !key.starts_with("__") && identity.labels.len() < MOST {
                identity
                    .labels
                    .push((short(key).to_owned(), value.to_owned()));
            }
            return;
        }
    };
    // The container's id comes before its name.
    if column.is_empty() || !key.ends_with("name") || key.starts_with("service") {
        value.clone_into(column);
    }
}

/// A text of at most [`LONGEST`] bytes, without zero bytes, which separate the parts of ids.
fn short(text: &str) -> &str {
    let text = text.split('\0').next().unwrap_or_default();
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Gives a service without a name one.
pub(crate) fn named(mut identity: Identity) -> Identity {
    if identity.service.is_empty() {
        UNKNOWN.clone_into(&mut identity.service);
    }
    identity.labels.sort();
    identity
}

/// `service=api&host=node-1&zone=eu`, behind the address of a pprof.
pub(crate) fn of_query(query: &str) -> About {
    let mut about = About::default();
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        match &key[..] {
            "from" => about.from = time_of(&value),
            "until" => {}
            key => label(&mut about.identity, key, &value),
        }
    }
    about.identity = named(about.identity);
    about
}

/// `app.cpu{host=node-1,zone=eu}`: the name of a Pyroscope application with its tags. The last part
/// of the name may be the type of the profile.
pub(crate) fn of_application(name: &str) -> Identity {
    let (application, tags) = name.split_once('{').unwrap_or((name, ""));
    let mut identity = Identity::default();
    for tag in tags.trim_end_matches('}').split(',') {
        if let Some((key, value)) = tag.split_once('=') {
            label(&mut identity, key.trim(), value.trim().trim_matches('"'));
        }
    }
    if identity.service.is_empty() {
        let known = [
            ".cpu",
            ".itimer",
            ".wall",
            ".alloc_objects",
            ".alloc_space",
            ".inuse_objects",
            ".inuse_space",
            ".goroutines",
            ".mutex_count",
            ".mutex_duration",
            ".block_count",
            ".block_duration",
            ".alloc_in_new_tlab_objects",
            ".alloc_in_new_tlab_bytes",
            ".lock_count",
            ".lock_duration",
        ];
        let mut service = application.trim();
        for kind in known {
            service = service.strip_suffix(kind).unwrap_or(service);
        }
        short(service).clone_into(&mut identity.service);
    }
    named(identity)
}

/// A time in milliseconds since 1970, from seconds or a smaller unit.
pub(crate) fn time_of(text: &str) -> Option<i64> {
    let number: i64 = text.trim().parse().ok()?;
    // The digits of a time of these years say its unit.
    Some(match number.checked_ilog10().unwrap_or(0) {
        ..11 => number.saturating_mul(1000),
        11..14 => number,
        14..17 => number / 1000,
        _ => number / 1_000_000,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_has_tags() {
        let identity = of_application("shop.api.cpu{hostname=node-1, zone=\"eu\",__x=1,version=2}");
        let wanted = Identity {
            service: "shop.api".to_owned(),
            host: "node-1".to_owned(),
            version: "2".to_owned(),
            labels: vec![("zone".to_owned(), "eu".to_owned())],
            ..Identity::default()
        };
        assert_eq!(identity, wanted);
        assert_eq!(of_application("{service_name=a}").service, "a");
        assert_eq!(of_application("").service, UNKNOWN);
    }

    #[test]
    fn a_query_has_labels() {
        let about = of_query("service=a%20b&pod=p&from=1795856400");
        assert_eq!(about.identity.service, "a b");
        assert_eq!(about.identity.pod, "p");
        assert_eq!(about.from, Some(1_795_856_400_000));
        assert_eq!(time_of("1795856400000000000"), Some(1_795_856_400_000));
        assert_eq!(time_of("1795856400000"), Some(1_795_856_400_000));
    }

    #[test]
    fn labels_have_bounds() {
        let mut identity = Identity::default();
        for number in 0..1000 {
            label(&mut identity, &format!("k{number}"), &"é".repeat(4000));
        }
        assert_eq!(identity.labels.len(), MOST);
        assert!(
            identity
                .labels
                .iter()
                .all(|(_, value)| value.len() <= LONGEST)
        );
        label(&mut identity, "container.id", "0123");
        label(&mut identity, "container.name", "api");
        assert_eq!(identity.container, "0123");
    }
}
