//! The sum of the squares of a row's weights as a function of SQL: whole parts, so that their sum
//! does not depend on the order in which machines add them.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, Decimal128Array};
use datafusion::arrow::datatypes::{DataType, Int32Type, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use profundo_store::table::whole_squares;

/// Digits of the result: the greatest one of a row has 28.
const DIGITS: u8 = 28;

/// `profundo_squares(value, count, spread)`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Squares {
    signature: Signature,
}

/// The function.
pub fn squares() -> Arc<ScalarUDF> {
    let arguments = vec![DataType::Int64, DataType::Int64, DataType::Int32];
    let signature = Signature::exact(arguments, Volatility::Immutable);
    Arc::new(ScalarUDF::from(Squares { signature }))
}

impl ScalarUDFImpl for Squares {
    fn name(&self) -> &str {
        "profundo_squares"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Decimal128(DIGITS, 0))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [value, count, spread] = &columns[..] else {
            return exec_err!("profundo_squares takes value, count and spread");
        };
        let value = value.as_primitive::<Int64Type>();
        let count = count.as_primitive::<Int64Type>();
        let spread = spread.as_primitive::<Int32Type>();
        let squares = (0..value.len()).map(|at| {
            let square = whole_squares(value.value(at), count.value(at), spread.value(at));
            square.cast_signed()
        });
        let squares = Decimal128Array::from_iter_values(squares);
        let squares = squares.with_precision_and_scale(DIGITS, 0)?;
        Ok(ColumnarValue::Array(Arc::new(squares)))
    }
}
