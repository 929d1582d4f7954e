//! A question as a plan of DataFusion: the sums of samples that are alike. It is the same plan in
//! one process and on many machines.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Int32Type, Int64Type, TimestampMillisecondType,
};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::dataframe::DataFrame;
use datafusion::functions_aggregate::expr_fn::{max, min, sum};
use datafusion::logical_expr::{Expr, cast, col, lit, when};
use datafusion::prelude::SessionContext;
use profundo_store::{Alike, Amount, Gathering, Query, Work};

use crate::files::{PART, SampleFile, SampleFiles};
use crate::places::Root;
use crate::squares::squares;

/// Up to this number, the series that the question's conditions choose are part of the plan. More
/// of them are chosen from the sums.
const MOST_SERIES: usize = 4096;

/// A question with all that the machines need to know.
#[derive(Debug, Clone)]
pub struct Question {
    query: Query,
    files: Arc<SampleFiles>,
    needs_series: bool,
    series: Option<Vec<i64>>,
}

impl Question {
    /// The question behind some work. `gatherings` know what its conditions choose, and get the
    /// names of files that cannot be read.
    pub fn new(work: &Work<'_>, gatherings: &mut [Gathering<'_>]) -> Result<Self, crate::Error> {
        let root = Root::of(&work.query().place)?;
        let mut files = Vec::new();
        let mut chosen: Option<Vec<i64>> = None;
        for (part, ((readable, told), gathering)) in
            (0..).zip(work.readable()?.into_iter().zip(gatherings))
        {
            told.into_iter().for_each(|told| gathering.tell(told));
            if let Some(series) = gathering.chosen() {
                let before = chosen.get_or_insert_default();
                let count = before.len();
                before.extend(series);
                if before.len() == count {
                    // Nothing in this part fulfils the conditions.
                    continue;
                }
            }
            files.extend(readable.into_iter().map(|entry| SampleFile {
                part,
                path: root.path(entry),
                size: entry.size,
            }));
        }
        if let Some(series) = &mut chosen {
            series.sort_unstable();
            series.dedup();
        }
        let place = root.place;
        Ok(Self {
            query: work.query().clone(),
            files: Arc::new(SampleFiles { place, files }),
            needs_series: work.needs_series(),
            series: chosen.filter(|series| series.len() <= MOST_SERIES),
        })
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.files.files.is_empty()
    }

    /// The samples of the question's services, type and time.
    fn samples(&self, context: &SessionContext) -> Result<DataFrame> {
        let time = |at| {
            let utc = Some(Arc::from("UTC"));
            lit(ScalarValue::TimestampMillisecond(Some(at), utc))
        };
        let Query {
            from,
            to,
            kind,
            services,
            ..
        } = &self.query;
        let texts = |texts: &[String]| texts.iter().map(|text| lit(text.as_str())).collect();
        let mut wanted = col("ts").gt_eq(time(*from));
        wanted = wanted.and(col("ts").lt(time(*to)));
        let types = kind.words().iter().map(|&word| lit(word)).collect();
        wanted = wanted.and(col("type").in_list(types, false));
        if !services.is_empty() {
            wanted = wanted.and(col("service").in_list(texts(services), false));
        }
        if let Some(series) = &self.series {
            let series = series.iter().map(|&series| lit(series)).collect();
            wanted = wanted.and(col("series").in_list(series, false));
        }
        let files = Arc::clone(&self.files);
        context.read_table(files)?.filter(wanted)
    }

    /// The sums of samples that are alike.
    pub fn sums(&self, context: &SessionContext) -> Result<DataFrame> {
        let mut alike = ["stack", "service", "state", "gil", "span"]
            .map(col)
            .to_vec();
        if let Some(step) = self.query.step {
            // Rounds down for times before 1970 as well.
            let ts = cast(col("ts"), DataType::Int64);
            let rest = (ts.clone() % lit(step) + lit(step)) % lit(step);
            alike.push(((ts - rest) / lit(step)).alias("step"));
        }
        let mut amounts = vec![
            sum(amount("value")?).alias("value"),
            sum(amount("count")?).alias("count"),
            sum(squares().call(["value", "count", "spread"].map(col).to_vec())).alias("squares"),
            min(col("ts")).alias("first"),
            max(col("ts")).alias("last"),
        ];
        match self.needs_series {
            true => alike.extend([col("series"), col(PART)]),
            false => amounts.push(min(col(PART)).alias(PART)),
        }
        self.samples(context)?.aggregate(alike, amounts)
    }

    /// The parts that have samples, where the sums do not say it.
    pub fn parts(&self, context: &SessionContext) -> Result<Option<DataFrame>> {
        let first = self.files.files.first().map(|file| file.part);
        let are_several = self.files.files.iter().any(|file| Some(file.part) != first);
        if self.needs_series || !are_several {
            return Ok(None);
        }
        let parts = self.samples(context)?.aggregate(vec![col(PART)], vec![])?;
        Ok(Some(parts))
    }

    /// Adds what [`Self::sums`] gave.
    pub fn add(&self, batch: &RecordBatch, gatherings: &mut [Gathering<'_>]) -> Result<()> {
        let (stack, part) = (column(batch, "stack")?, column(batch, PART)?);
        let (stack, part) = (
            stack.as_fixed_size_binary(),
            part.as_primitive::<Int32Type>(),
        );
        let [service, state, gil, span] = ["service", "state", "gil", "span"];
        let text = |name| column(batch, name).map(|column| column.as_string::<i32>());
        let (service, state, gil, span) = (text(service)?, text(state)?, text(gil)?, text(span)?);
        let whole = |name| {
            let column = column(batch, name);
            column.map(|column| column.as_primitive::<Decimal128Type>())
        };
        let (value, count, squares) = (whole("value")?, whole("count")?, whole("squares")?);
        let time = |name| {
            let column = column(batch, name);
            column.map(|column| column.as_primitive::<TimestampMillisecondType>())
        };
        let (first, last) = (time("first")?, time("last")?);
        let long = |name, is_there: bool| match is_there {
            true => column(batch, name).map(|column| Some(column.as_primitive::<Int64Type>())),
            false => Ok(None),
        };
        let step = long("step", self.query.step.is_some())?;
        let series = long("series", self.needs_series)?;
        for at in 0..batch.num_rows() {
            let place = usize::try_from(part.value(at)).unwrap_or(usize::MAX);
            let Some(gathering) = gatherings.get_mut(place) else {
                return exec_err!("the sums are of a part {place} that was not asked for");
            };
            let mut id = [0; 16];
            id.copy_from_slice(stack.value(at));
            let alike = Alike {
                service: gathering.text(service.value(at)),
                series: series.map_or(0, |series| series.value(at)),
                stack: u128::from_be_bytes(id),
                state: gathering.text(state.value(at)),
                gil: gathering.text(gil.value(at)),
                span: gathering.text(span.value(at)),
                step: step.map_or(0, |step| step.value(at)),
            };
            let amount = Amount {
                value: u64::try_from(value.value(at)).unwrap_or(u64::MAX),
                count: u64::try_from(count.value(at)).unwrap_or(u64::MAX),
                squares: squares.value(at).max(0).cast_unsigned(),
                first: first.value(at),
                last: last.value(at),
            };
            gathering.add(&alike, &amount);
        }
        Ok(())
    }

    /// Adds what [`Self::parts`] gave.
    pub fn add_parts(batch: &RecordBatch, gatherings: &mut [Gathering<'_>]) -> Result<()> {
        let part = column(batch, PART)?;
        for &part in part.as_primitive::<Int32Type>().values() {
            let place = usize::try_from(part).unwrap_or(usize::MAX);
            match gatherings.get_mut(place) {
                Some(gathering) => gathering.has_samples(),
                None => return exec_err!("the sums are of a part {place} that was not asked for"),
            }
        }
        Ok(())
    }
}

/// A column of sums, none of which is negative, with digits enough for any number of rows.
fn amount(name: &str) -> Result<Expr> {
    let positive = when(col(name).gt(lit(0_i64)), col(name)).otherwise(lit(0_i64))?;
    Ok(cast(positive, DataType::Decimal128(19, 0)))
}

fn column<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b Arc<dyn Array>> {
    match batch.column_by_name(name) {
        Some(column) => Ok(column),
        None => exec_err!("the sums lack the column {name}"),
    }
}
