//! Lambdas that the compiler has inlined: gcc calls them all `operator()`. They get the name that
//! their symbol would have (`Shape::area(int)::{lambda(int)#1}::operator()`), which is composed
//! from the entries around theirs.

use std::cell::RefCell;
use std::rc::Rc;

use gimli::{AttributeValue, DwTag, UnitOffset, UnitRef};
use rustc_hash::FxHashMap;

use crate::demangle::demangle;
use crate::image::Reader;

/// gcc's name for the function of each lambda.
pub(crate) const OPERATOR: &[u8] = b"operator()";

/// An entry refers to another one, that one perhaps to a third.
const MAX_STEPS: usize = 8;
/// Types of types, as in a pointer to a pointer.
const MAX_TYPES: usize = 16;

/// Parameters whose types have no plain name.
const UNKNOWN: &str = "…";

/// The name of each lambda in a unit, by the place of its function's entry.
type Names = FxHashMap<usize, String>;

/// The lambdas of the units that were asked about.
#[derive(Debug, Default)]
pub(crate) struct Lambdas {
    units: RefCell<FxHashMap<u64, Rc<Names>>>,
}

impl Lambdas {
    /// The name of the lambda at `offset` in `unit`; `None` where that is another kind of function.
    pub(crate) fn get(&self, unit: &UnitRef<'_, Reader<'_>>, offset: UnitOffset) -> Option<String> {
        let start = unit.header.debug_info_offset();
        let start = start.map_or(u64::MAX, |start| start.0 as u64);
        let key = unit.dwo_id.map_or(start, |id| id.0);
        let known = self.units.borrow().get(&key).map(Rc::clone);
        let names = known.unwrap_or_else(|| {
            let names = Rc::new(names(unit));
            self.units.borrow_mut().insert(key, Rc::clone(&names));
            names
        });
        let mut at = offset;
        for _ in 0..MAX_STEPS {
            if let Some(name) = names.get(&at.0) {
                return Some(name.clone());
            }
            at = origin(unit, at)?;
        }
        None
    }
}

/// The entry that this one is a copy or the definition of.
fn origin(unit: &UnitRef<'_, Reader<'_>>, at: UnitOffset) -> Option<UnitOffset> {
    let entry = unit.entry(at).ok()?;
    let origin = entry
        .attr_value(gimli::DW_AT_abstract_origin)
        .or_else(|| entry.attr_value(gimli::DW_AT_specification))?;
    match origin {
        AttributeValue::UnitRef(next) => Some(next),
        _ => None,
    }
}

/// An entry around the one being read.
struct Around {
    depth: isize,
    tag: DwTag,
    at: UnitOffset,
    is_nameless: bool,
}

fn names(unit: &UnitRef<'_, Reader<'_>>) -> Names {
    let mut found = Names::default();
    // The number of lambdas with the same parameters in each function.
    let mut counts: FxHashMap<String, usize> = FxHashMap::default();
    let mut around: Vec<Around> = Vec::new();
    let mut entries = unit.entries();
    // Damage ends the unit.
    while let Ok(Some(entry)) = entries.next_dfs() {
        let depth = entry.depth();
        while around.last().is_some_and(|outer| outer.depth >= depth) {
            around.pop();
        }
        let is_function = entry.tag() == gimli::DW_TAG_subprogram;
        let name = entry.attr_value(gimli::DW_AT_name);
        if is_function
            && around.last().is_some_and(|outer| outer.is_nameless)
            && name
                .and_then(|name| unit.attr_string(name).ok())
                .is_some_and(|name| name.slice() == OPERATOR)
            && let Some(outer) = around
                .iter()
                .rev()
                .find(|outer| outer.tag == gimli::DW_TAG_subprogram)
            && let Some(function) = function(unit, outer.at, &found)
        {
            let parameters = parameters(unit, entry.offset()).unwrap_or(UNKNOWN.to_owned());
            let lambda = format!("{function}::{{lambda({parameters})#");
            let count = counts.entry(lambda.clone()).or_default();
            *count += 1;
            found.insert(entry.offset().0, format!("{lambda}{count}}}::operator()"));
        }
        let tag = entry.tag();
        let is_type = tag == gimli::DW_TAG_structure_type || tag == gimli::DW_TAG_class_type;
        around.push(Around {
            depth,
            tag,
            at: entry.offset(),
            is_nameless: is_type && name.is_none(),
        });
    }
    found
}

/// The name of the function at `at`, with its parameters.
fn function(unit: &UnitRef<'_, Reader<'_>>, at: UnitOffset, lambdas: &Names) -> Option<String> {
    let mut next = at;
    let mut plain = None;
    for _ in 0..MAX_STEPS {
        if let Some(name) = lambdas.get(&next.0) {
            let parameters = parameters(unit, next).unwrap_or(UNKNOWN.to_owned());
            return Some(format!("{name}({parameters}) const"));
        }
        let entry = unit.entry(next).ok()?;
        let text = |name| {
            let value = entry.attr_value(name)?;
            let text = unit.attr_string(value).ok()?;
            Some(String::from_utf8_lossy(text.slice()).into_owned())
        };
        if let Some(linkage) = text(gimli::DW_AT_linkage_name) {
            let demangled = demangle(&linkage);
            let (function, signature) = (demangled.function, demangled.signature);
            // A template's signature begins with the return type.
            let start = signature.find(&function);
            return Some(start.map_or(function, |start| signature[start..].to_owned()));
        }
        plain = plain.or_else(|| text(gimli::DW_AT_name));
        match origin(unit, next) {
            Some(at) => next = at,
            None => break,
        }
    }
    plain
}

/// The types of a function's parameters, without that of the lambda itself.
fn parameters(unit: &UnitRef<'_, Reader<'_>>, at: UnitOffset) -> Option<String> {
    let mut tree = unit.entries_tree(Some(at)).ok()?;
    let mut children = tree.root().ok()?.children();
    let mut types = Vec::new();
    while let Ok(Some(child)) = children.next() {
        let entry = child.entry();
        if entry.tag() != gimli::DW_TAG_formal_parameter
            || entry.attr_value(gimli::DW_AT_artificial).is_some()
        {
            continue;
        }
        types.push(type_name(unit, type_of(entry), MAX_TYPES)?);
    }
    Some(types.join(", "))
}

fn type_of(entry: &gimli::DebuggingInformationEntry<Reader<'_>>) -> Option<UnitOffset> {
    match entry.attr_value(gimli::DW_AT_type)? {
        AttributeValue::UnitRef(at) => Some(at),
        _ => None,
    }
}

/// A type in the demanglers' form.
fn type_name(
    unit: &UnitRef<'_, Reader<'_>>,
    at: Option<UnitOffset>,
    steps: usize,
) -> Option<String> {
    let Some(at) = at else {
        return Some("void".to_owned());
    };
    let steps = steps.checked_sub(1)?;
    let entry = unit.entry(at).ok()?;
    let inner = |after: &str| Some(type_name(unit, type_of(&entry), steps)? + after);
    match entry.tag() {
        gimli::DW_TAG_pointer_type => inner("*"),
        gimli::DW_TAG_reference_type => inner("&"),
        gimli::DW_TAG_rvalue_reference_type => inner("&&"),
        gimli::DW_TAG_const_type => inner(" const"),
        gimli::DW_TAG_volatile_type => inner(" volatile"),
        // Symbols have the type behind a typedef.
        gimli::DW_TAG_typedef => inner(""),
        _ => {
            let name = unit.attr_string(entry.attr_value(gimli::DW_AT_name)?);
            let name = name.ok()?;
            let name = String::from_utf8_lossy(name.slice());
            Some(short(&name).to_owned())
        }
    }
}

/// The name of an arithmetic type in symbols.
fn short(name: &str) -> &str {
    match name {
        "short int" => "short",
        "short unsigned int" => "unsigned short",
        "long int" => "long",
        "long unsigned int" => "unsigned long",
        "long long int" => "long long",
        "long long unsigned int" => "unsigned long long",
        name => name,
    }
}
