//! Options of `export` and `flame`. Each format takes some of them. The others are refused, since
//! an option that changes nothing misleads.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, Command, ValueEnum};
use profundo_console::options::values::{percent, seconds};
use profundo_formats::export::{Colours, Format, Merge, Options, Order, Weights, listed};

use super::filters::{OnlyUntil, Until};
use super::head::Head;
use super::measuring::Measuring;

/// The formats of `export`: pictures have commands of their own. A recording is one of them.
fn export_formats() -> impl Iterator<Item = Format> {
    let formats = Format::ALL.iter().copied();
    let drawn = [Format::FLAME, Format::GRAPH, Format::SQUARE];
    let formats = formats.filter(move |format| !drawn.contains(format) && *format != Format::DOT);
    formats.chain([Format::RECORDING])
}

/// A value of `--to` in `export`: a format, or a time as in other commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    Format(Format),
    Time(Duration),
}

/// Distinguishes times from names of formats.
#[derive(Debug, Clone, Copy)]
struct ToParser;

impl TypedValueParser for ToParser {
    type Value = To;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<To, clap::Error> {
        let is_number = value
            .as_encoded_bytes()
            .first()
            .is_some_and(|byte| byte.is_ascii_digit() || b"-.".contains(byte));
        if is_number {
            seconds.parse_ref(command, argument, value).map(To::Time)
        } else {
            // What is no text is no name either, and refused as such.
            let name = value.to_string_lossy();
            let name = format_names().parse_ref(command, argument, name.as_ref().as_ref())?;
            let format = export_formats().find(|format| format.name() == name);
            Ok(To::Format(
                format.expect("the parser takes only names of formats"),
            ))
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(export_formats().map(possible_value)))
    }
}

fn format_names() -> PossibleValuesParser {
    PossibleValuesParser::new(export_formats().map(possible_value))
}

/// A format as help and completions show it.
fn possible_value(format: Format) -> PossibleValue {
    PossibleValue::new(format.name()).help(format.about())
}

/// The unit of a sample's weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WeightsChoice {
    /// How often it was counted
    Samples,
    /// The time that it stands for
    Time,
}

/// The unit of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// A function, at whatever line
    Function,
    /// A function at a line
    Line,
}

/// The form of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// The root at the bottom, the widest boxes on the left (the default)
    #[value(alias = "left-heavy")]
    Flame,
    /// The same with the root at the top
    Icicle,
    /// Boxes by name from left to right, to compare pictures
    ByName,
    /// A lane for each thread, samples in the order of time
    #[value(alias = "chart")]
    TimeOrder,
    /// The functions that ran at the root, and their callers on them
    #[value(alias = "bottom-up")]
    Inverted,
}

/// The meaning of a picture's colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColourChoice {
    /// Python, native, system, waiting
    Kind,
    /// The package or library that has the function
    Package,
    /// The file that has it
    File,
    /// The function's own time
    Heat,
}

// Options of most formats.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "The file")]
pub struct Drawing {
    /// Count samples, or the time that they stand for [default: as is the format's custom]
    #[arg(long, value_enum, value_name = "WHAT", hide_possible_values = false)]
    pub weights: Option<WeightsChoice>,
    /// Take functions for one frame, or only equal lines of them [default: as is the format's
    /// custom]
    #[arg(
        long,
        alias = "by",
        value_enum,
        value_name = "WHAT",
        hide_possible_values = false
    )]
    pub frames: Option<By>,
    /// Put each process below its stacks
    #[arg(long)]
    pub processes: bool,
    /// Put each thread below its stacks
    #[arg(long)]
    pub threads: bool,
    /// Put each task below its stacks
    #[arg(long)]
    pub tasks: bool,
}

#[derive(Debug, Args)]
pub struct Export {
    /// The format [default: that of the file's ending]
    #[arg(long, value_name = "FORMAT", value_parser = ToParser)]
    pub to: Vec<To>,
    #[command(flatten)]
    pub head: Head,
    #[command(flatten)]
    pub until: OnlyUntil,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub drawing: Drawing,
    /// Mark frames with what they are: Python, native, the kernel's (collapsed, speedscope)
    #[arg(long, help_heading = "The file")]
    pub kinds: bool,
}

#[derive(Debug, Args)]
pub struct Flame {
    #[command(flatten)]
    pub head: Head,
    #[command(flatten)]
    pub until: Until,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub drawing: Drawing,
    /// The form of the picture
    #[arg(
        long,
        value_enum,
        value_name = "LAYOUT",
        hide_possible_values = false,
        help_heading = "The file"
    )]
    pub layout: Option<Layout>,
    /// Draw the root at the top
    #[arg(long, help_heading = "The file")]
    pub icicle: bool,
    /// Start from the functions that ran, with their callers on them
    #[arg(long, help_heading = "The file")]
    pub inverted: bool,
    /// Draw a lane for each thread, its samples in the order of time
    #[arg(long, help_heading = "The file")]
    pub time_order: bool,
    /// What the colours tell [default: kind]
    #[arg(
        long,
        visible_alias = "color",
        value_enum,
        value_name = "WHAT",
        hide_possible_values = false,
        help_heading = "The file"
    )]
    pub colour: Option<ColourChoice>,
    /// Draw nothing narrower than this share of the width, in percent [default: as much as a
    /// browser opens at once]
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true, help_heading = "The file")]
    pub min_share: Option<f64>,
}

#[derive(Debug, Args)]
pub struct Heatmap {
    #[command(flatten)]
    pub head: Head,
    #[command(flatten)]
    pub until: Until,
    /// The time of a column, in seconds [default: by the recording's length: 1, 10, 60 or 3600]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true, help_heading = "The file")]
    pub column: Option<Duration>,
    /// The time of a row, in seconds [default: a fiftieth of a column, or a sixtieth of minutes]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true, help_heading = "The file")]
    pub row: Option<Duration>,
    /// Draw the time that threads waited, in place of their time on a CPU
    #[arg(long, help_heading = "The file")]
    pub waiting: bool,
}

impl Heatmap {
    /// Why these options do not go together, if they do not.
    pub fn misfit(&self) -> Option<String> {
        let is_zero = |time: Option<Duration>| time.is_some_and(|time| time.is_zero());
        let is_row_longer =
            matches!((self.column, self.row), (Some(column), Some(row)) if row > column);
        (self.head.filters.misfit(self.until.to))
            .or_else(|| {
                let has_zero = is_zero(self.column) || is_zero(self.row);
                has_zero.then(|| "--column and --row take more than 0 seconds".into())
            })
            .or_else(|| {
                is_row_longer.then(|| "a --row is a part of a --column, so it is not longer".into())
            })
            .or_else(|| {
                (self.head.filters.only_mine)
                    .then(|| "a heatmap shows time, and no frames of libraries to hide; --function and --file choose what counts".into())
            })
    }

    /// The options in the words of the library.
    pub fn options(&self) -> Options {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Options {
            column: self.column.map(nanoseconds),
            row: self.row.map(nanoseconds),
            waiting: self.waiting,
            ..self.head.options()
        }
    }
}

impl Export {
    /// Why these options do not go together, if they do not.
    pub fn misfit(&self) -> Option<String> {
        let (format, until) = match self.format() {
            Ok(format) => format,
            Err(why) => return Some(why),
        };
        (self.head.filters.misfit(until))
            .or_else(|| self.measuring.misfit().map(str::to_owned))
            .or_else(|| format.misfit(&self.options()))
    }

    /// The format and the end of the time, or why that is not clear.
    pub fn format(&self) -> Result<(Format, Option<Duration>), String> {
        let (mut formats, mut times) = (Vec::new(), Vec::from_iter(self.until.until));
        for to in &self.to {
            match *to {
                To::Format(format) => formats.push(format),
                To::Time(time) => times.push(time),
            }
        }
        match (&formats[..], &times[..]) {
            (_, [_, _, ..]) => Err("the end of the time is given twice".into()),
            ([], times) => match self.format_of_output() {
                Some(format) => Ok((format, times.first().copied())),
                None => {
                    let formats: Vec<Format> = export_formats().collect();
                    let formats = listed(formats.iter(), "or");
                    Err(format!("`export` wants a format: --to {formats}"))
                }
            },
            ([format], times) => Ok((*format, times.first().copied())),
            _ => Err("`export` writes one format at a time".into()),
        }
    }

    /// The format that the name of the file has, if `export` writes it.
    fn format_of_output(&self) -> Option<Format> {
        let output = self.head.output.as_deref()?;
        let format = match output.extension() {
            Some(ending) if ending == Format::RECORDING.extension() => Some(Format::RECORDING),
            _ => Format::of_path(output),
        };
        format.filter(|format| export_formats().any(|known| known == *format))
    }

    /// The options in the words of the library.
    pub fn options(&self) -> Options {
        Options {
            kinds: self.kinds,
            measure: self.measuring.measure(),
            ..self.drawing.options(&self.head)
        }
    }
}

impl Flame {
    /// Why these options do not go together, if they do not.
    pub fn misfit(&self) -> Option<String> {
        (self.head.filters.misfit(self.until.to))
            .or_else(|| self.measuring.misfit().map(str::to_owned))
            .or_else(|| self.layout_misfit())
            .or_else(|| Format::FLAME.misfit(&self.options()))
    }

    /// Why the options of the layout do not go together, if they do not.
    fn layout_misfit(&self) -> Option<String> {
        use Layout::{ByName, Flame, Icicle, Inverted, TimeOrder};
        let again = |layout: &str, flag: &str| {
            Some(format!(
                "--layout {layout} and {flag} are the same; give one of them"
            ))
        };
        let is_timed = self.time_order || self.layout == Some(TimeOrder);
        match self.layout {
            Some(TimeOrder) if self.time_order => again("time-order", "--time-order"),
            Some(Icicle) if self.icicle => again("icicle", "--icicle"),
            Some(Inverted) if self.inverted => again("inverted", "--inverted"),
            Some(Flame) if self.icicle => {
                Some("--layout flame has the root at the bottom, and --icicle at the top".into())
            }
            Some(Flame | Icicle | ByName | Inverted) if self.time_order => {
                Some("--time-order is a layout of its own; it takes no other --layout".into())
            }
            _ if is_timed && self.icicle => {
                Some("the order of time has the root at the top already, without --icicle".into())
            }
            _ => None,
        }
    }

    /// The options in the words of the library.
    pub fn options(&self) -> Options {
        let is_timed = self.time_order || self.layout == Some(Layout::TimeOrder);
        Options {
            icicle: self.icicle || is_timed || self.layout == Some(Layout::Icicle),
            bottom_up: self.inverted || self.layout == Some(Layout::Inverted),
            order: match self.layout {
                _ if is_timed => Order::Time,
                Some(Layout::ByName) => Order::Name,
                _ => Order::Widest,
            },
            colours: match self.colour {
                None | Some(ColourChoice::Kind) => Colours::Kind,
                Some(ColourChoice::Package) => Colours::Package,
                Some(ColourChoice::File) => Colours::File,
                Some(ColourChoice::Heat) => Colours::Heat,
            },
            measure: self.measuring.measure(),
            min_share: self.min_share,
            ..self.drawing.options(&self.head)
        }
    }
}

impl Drawing {
    fn options(&self, head: &Head) -> Options {
        Options {
            weights: self.weights.map(|weights| match weights {
                WeightsChoice::Samples => Weights::Samples,
                WeightsChoice::Time => Weights::Time,
            }),
            merge: self.frames.map(|by| match by {
                By::Function => Merge::Function,
                By::Line => Merge::Line,
            }),
            processes: self.processes,
            threads: self.threads,
            tasks: self.tasks,
            ..head.options()
        }
    }
}
