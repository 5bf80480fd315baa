//! Medians, and how sure they are.

use crate::random::Random;

/// Samples drawn for an interval.
const RESAMPLES: usize = 2000;

/// A median with its 95 % bootstrap interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// In the unit of the values.
    pub median: f64,
    /// Where the interval begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

impl Estimate {
    /// Of at least one value (percentile bootstrap: Efron and Tibshirani, "An Introduction to the
    /// Bootstrap", 1993, chapter 13). Equal values give equal intervals.
    pub fn of(values: &[f64]) -> Self {
        let mut random = Random(0);
        let mut medians: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                let resample = values
                    .iter()
                    .map(|_| values[(random.draw() % values.len() as u64) as usize]);
                median(resample.collect())
            })
            .collect();
        medians.sort_by(f64::total_cmp);
        Self {
            median: median(values.to_vec()),
            low: medians[RESAMPLES / 40],
            high: medians[RESAMPLES - 1 - RESAMPLES / 40],
        }
    }
}

/// The median of at least one value.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_two_in_the_middle() {
        for (values, expected) in [
            (vec![7.0], 7.0),
            (vec![3.0, 1.0], 2.0),
            (vec![9.0, 1.0, 2.0], 2.0),
            (vec![4.0, 1.0, 1000.0, 2.0], 3.0),
        ] {
            assert_eq!(median(values), expected);
        }
    }

    #[test]
    fn equal_values_leave_no_doubt() {
        let sure = Estimate::of(&[5.0; 15]);
        assert_eq!((sure.low, sure.median, sure.high), (5.0, 5.0, 5.0));
    }

    #[test]
    fn one_outlier_moves_the_interval_hardly() {
        let mut values: Vec<f64> = (0..20).map(|i| 100.0 + f64::from(i % 5)).collect();
        let calm = Estimate::of(&values);
        values[3] = 1e6;
        let shaken = Estimate::of(&values);
        for estimate in [calm, shaken] {
            assert!(estimate.low <= estimate.median && estimate.median <= estimate.high);
            assert!(
                estimate.low >= 100.0 && estimate.high <= 104.0,
                "{estimate:?}"
            );
        }
    }

    /// For the normal distribution the median's standard error is 1.2533 / sqrt(n), and the interval
    /// is 2 x 1.96 of them wide.
    #[test]
    fn the_interval_is_as_wide_as_theory_says() {
        let mut random = Random(1);
        let mut widths = Vec::new();
        for _ in 0..15 {
            let mut normal = || {
                (0..12)
                    .map(|_| (random.draw() % (1 << 20)) as f64 / f64::from(1 << 20))
                    .sum::<f64>()
                    - 6.0
            };
            let values: Vec<f64> = (0..101).map(|_| normal()).collect();
            let estimate = Estimate::of(&values);
            widths.push(estimate.high - estimate.low);
        }
        let theory = 2.0 * 1.96 * 1.2533 / f64::sqrt(101.0);
        let width = median(widths);
        assert!((width / theory - 1.0).abs() < 0.2, "{width} {theory}");
    }
}
