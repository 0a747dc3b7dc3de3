//! The files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pointsman::Instance;
use serde::Deserialize;
use serde_json::Value;

/// The version of the files' form.
pub(crate) const FORMAT: u32 = 1;

/// Marks a promise that is yet to be written.
pub(crate) const UNFILLED: &str = "\"gives\": \"?\"";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) format: u32,
    origin: String,
    #[allow(dead_code, reason = "for those who read the file")]
    about: String,
    pub(crate) cases: Vec<Case>,
}

/// Where the promised answers come from.
#[derive(Debug, PartialEq)]
pub(crate) enum Origin {
    Engine,
    ByHand,
    Independent,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) pool: Option<Value>,
    pub(crate) seed: Option<Seed>,
    pub(crate) instances: Vec<Described>,
    #[serde(default)]
    pub(crate) routes: Vec<Value>,
    #[serde(default)]
    pub(crate) pickers: Vec<PickerOf>,
    pub(crate) steps: Vec<Step>,
}

/// A number of 64 bits, written as text since JSON's numbers are not sure to hold it.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Seed(pub(crate) u64);

impl TryFrom<String> for Seed {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PickerOf {
    pub(crate) route: usize,
    pub(crate) seed: Seed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    #[serde(rename = "do")]
    pub(crate) verb: Verb,
    pub(crate) route: Option<usize>,
    pub(crate) picker: Option<usize>,
    #[serde(default)]
    pub(crate) request: Asked,
    pub(crate) times: Option<usize>,
    pub(crate) keys: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) hold: Vec<String>,
    pub(crate) lease: Option<String>,
    pub(crate) outcome: Option<String>,
    pub(crate) latency_s: Option<f64>,
    pub(crate) id: Option<String>,
    pub(crate) load: Option<f64>,
    #[serde(default)]
    pub(crate) changes: Vec<Change>,
    #[serde(default)]
    pub(crate) instances: Vec<Described>,
    /// The text of a spec, since messages name places in it.
    pub(crate) spec: Option<String>,
    #[serde(default)]
    pub(crate) gives: Value,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verb {
    Pick,
    PickDistinct,
    Lease,
    Done,
    Report,
    Edit,
    Replace,
    Tick,
    Explain,
    Route,
    Pool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Asked {
    pub(crate) tags: BTreeMap<String, Values>,
    pub(crate) require: BTreeMap<String, Values>,
    pub(crate) exclude: Vec<String>,
    pub(crate) prefer: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) relax: bool,
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Values {
    One(String),
    Several(Vec<String>),
}

/// An instance in the fields of the plain format, its values not looked at.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Described {
    address: String,
    id: Option<String>,
    weight: Option<f64>,
    zone: Option<String>,
    #[serde(default)]
    tags: BTreeMap<String, Values>,
    healthy: Option<bool>,
    enabled: Option<bool>,
    load: Option<f64>,
    max_in_flight: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    Upsert(Box<Described>),
    Remove(String),
    SetWeight(String, f64),
    SetHealthy(String, bool),
    SetEnabled(String, bool),
}

/// The pairs of key and value, in the order of the keys.
pub(crate) fn pairs(tags: &BTreeMap<String, Values>) -> Vec<(&str, &str)> {
    tags.iter()
        .flat_map(|(key, values)| {
            let values = match values {
                Values::One(value) => std::slice::from_ref(value),
                Values::Several(values) => values,
            };
            values.iter().map(move |value| (&**key, &**value))
        })
        .collect()
}

impl File {
    pub(crate) fn parse(path: &Path, text: &str) -> Self {
        let file: Self =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(
            matches!(file.origin.as_str(), "engine" | "by hand") || file.origin.starts_with("independent: "),
            "{}: origin {:?}",
            path.display(),
            file.origin
        );
        file
    }

    pub(crate) fn origin(&self) -> Origin {
        match self.origin.as_str() {
            "engine" => Origin::Engine,
            "by hand" => Origin::ByHand,
            _ => Origin::Independent,
        }
    }
}

impl Step {
    pub(crate) fn is_unfilled(&self) -> bool {
        self.gives == "?"
    }
}

impl Described {
    pub(crate) fn instance(&self) -> Instance {
        let mut instance = Instance::new(&*self.address)
            .weight(self.weight.unwrap_or(1.0))
            .healthy(self.healthy.unwrap_or(true))
            .enabled(self.enabled.unwrap_or(true))
            .tags(pairs(&self.tags).into_iter().collect());
        if let Some(id) = &self.id {
            instance = instance.id(&**id);
        }
        instance.zone = self.zone.as_deref().map(Into::into);
        instance.load = self.load;
        instance.max_in_flight = self.max_in_flight;
        instance
    }
}

/// Every file with its text, in the order of their names.
pub(crate) fn read_all() -> Vec<(PathBuf, String)> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let entries = std::fs::read_dir(&place).expect("the directory of the vectors can be read");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    assert!(!paths.is_empty(), "there are vectors");
    let text = |path: &PathBuf| std::fs::read_to_string(path).expect("a vector can be read");
    paths.into_iter().map(|path| (path.clone(), text(&path))).collect()
}
