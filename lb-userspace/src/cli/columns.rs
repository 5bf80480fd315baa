/// Lines up the cells of `rows`, two spaces between columns, `indent` before the first.
pub(super) fn columns(indent: usize, rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..rows.iter().map(Vec::len).max().unwrap_or(0))
        .map(width)
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = " ".repeat(indent);
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The cells of the first row.
pub(super) fn header(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The rows without the column of this name, if there is nothing in it.
pub(super) fn without_empty(name: &str, mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let column = rows
        .first()
        .and_then(|names| names.iter().position(|it| it == name));
    let column = column.filter(|column| rows[1..].iter().all(|row| row[*column].is_empty()));
    if let Some(column) = column {
        rows.iter_mut().for_each(|row| drop(row.remove(column)));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_line_up_and_lines_end_where_their_text_ends() {
        let rows = [["A", "LONG", ""], ["wide", "b", "c"], ["", "", ""]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(columns(2, &rows), "  A     LONG\n  wide  b     c\n\n");
    }

    #[test]
    fn a_column_of_nothing_can_be_left_out() {
        let rows = |cell: &str| vec![header(&["A", "B"]), header(&["a", cell])];
        assert_eq!(without_empty("B", rows("b")), rows("b"));
        let expected = [header(&["A"]), header(&["a"])];
        assert_eq!(without_empty("B", rows("")), expected);
    }
}
