//! HTML with escaping: only literals of this program are inserted verbatim.

use std::fmt::Display;

/// A page under construction.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Appends markup from this program's source.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Appends text from any source, escaped.
    pub(super) fn text(&mut self, text: impl Display) -> &mut Self {
        push_escaped(&mut self.0, &text.to_string());
        self
    }

    /// Appends text in an element without attributes.
    pub(super) fn element(&mut self, name: &'static str, text: impl Display) -> &mut Self {
        self.raw("<").raw(name).raw(">");
        self.text(text);
        self.raw("</").raw(name).raw(">")
    }

    /// Appends an attribute to the open tag, before its `>`.
    pub(super) fn attr(&mut self, name: &'static str, value: impl Display) -> &mut Self {
        self.raw(" ").raw(name).raw("=\"");
        self.text(value).raw("\"")
    }

    /// Appends a table with these columns, unless it has no rows. On a narrow screen each row
    /// becomes a card whose cells name their column.
    pub(super) fn table(
        &mut self,
        columns: &'static [&'static str],
        rows: impl FnOnce(&mut Rows<'_>),
    ) {
        let mut body = Html::default();
        let mut inside = Rows {
            html: &mut body,
            columns,
            next: 0,
        };
        rows(&mut inside);
        if body.0.is_empty() {
            self.raw("<p>none</p>\n");
            return;
        }
        self.raw("<table>\n<thead><tr>");
        for column in columns {
            self.raw("<th scope=\"col\">").raw(column).raw("</th>");
        }
        self.raw("</tr></thead>\n<tbody>\n");
        self.0.push_str(&body.0);
        self.raw("</tbody>\n</table>\n");
    }

    /// Appends a link within the dashboard: to a name in one of its folders.
    pub(super) fn link(&mut self, folder: &'static str, name: &str, text: impl Display) {
        self.raw("<a href=\"").raw(folder);
        self.0.push_str(&percent_encoded(name));
        self.raw("\">").text(text).raw("</a>");
    }

    /// Appends a link to another site if a browser may follow it, else only its text.
    pub(super) fn outward(&mut self, url: &str, text: impl Display) {
        let followed = ["https://", "http://"]
            .iter()
            .any(|scheme| url.starts_with(scheme));
        if !followed {
            self.text(text);
            return;
        }
        self.raw("<a rel=\"noreferrer noopener\" href=\"").text(url);
        self.raw("\">").text(text).raw("</a>");
    }

    /// Appends an entry of a list of facts, if it has a value.
    pub(super) fn fact(&mut self, name: &'static str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.element("dt", name).element("dd", value).raw("\n");
        }
    }

    /// Returns the page.
    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// The rows of a table.
pub(super) struct Rows<'a> {
    html: &'a mut Html,
    columns: &'static [&'static str],
    next: usize,
}

impl Rows<'_> {
    /// Appends a row with as many cells as there are columns.
    pub(super) fn row(&mut self, cells: impl FnOnce(&mut Self)) {
        self.html.raw("<tr>");
        self.next = 0;
        cells(self);
        self.html.raw("</tr>\n");
    }

    /// Appends a cell with a text.
    pub(super) fn cell(&mut self, text: impl Display) -> &mut Self {
        self.cell_with(|html| {
            html.text(text);
        })
    }

    /// Appends a cell with any content.
    pub(super) fn cell_with(&mut self, content: impl FnOnce(&mut Html)) -> &mut Self {
        let column = self.columns.get(self.next).copied().unwrap_or_default();
        self.next += 1;
        self.html.raw("<td data-label=\"").raw(column).raw("\">");
        content(self.html);
        self.html.raw("</td>");
        self
    }
}

/// The first characters of a text, with a mark if it was cut.
pub(super) fn clip(text: &str, most: usize) -> String {
    let mut clipped: String = text.chars().take(most).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}

/// The last `most` items of a list, and the number of items before them.
pub(super) fn newest<T>(items: &[T], most: usize) -> (&[T], usize) {
    let hidden = items.len().saturating_sub(most);
    (&items[hidden..], hidden)
}

fn push_escaped(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            // Invisible characters must not change how a text is displayed.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            hidden if hidden.is_control() => out.push('\u{fffd}'),
            plain => out.push(plain),
        }
    }
}

/// A name, encoded as one segment of a path.
pub(super) fn percent_encoded(name: &str) -> String {
    let mut encoded = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_text_whatever_it_is() {
        let mut html = Html::default();
        html.text("<script>alert('x' & \"y\")</script>\0\u{202e}a\n");
        assert_eq!(
            html.finish(),
            "&lt;script&gt;alert(&#39;x&#39; &amp; &quot;y&quot;)&lt;/script&gt;\u{fffd}\u{fffd}a\n"
        );
    }

    #[test]
    fn a_link_leaves_neither_its_attribute_nor_its_folder() {
        let mut html = Html::default();
        html.link("/runs/", "\" onclick=\"x/../..", "it");
        assert_eq!(
            html.finish(),
            "<a href=\"/runs/%22%20onclick%3D%22x%2F..%2F..\">it</a>"
        );
    }

    #[test]
    fn only_web_addresses_become_links() {
        let shown = |url: &str| {
            let mut html = Html::default();
            html.outward(url, "it");
            html.finish()
        };
        assert_eq!(shown("javascript:alert(1)"), "it");
        assert_eq!(shown("local:///repo/.git/pull/1"), "it");
        assert_eq!(
            shown("https://a.example/\"x"),
            "<a rel=\"noreferrer noopener\" href=\"https://a.example/&quot;x\">it</a>"
        );
    }

    #[test]
    fn a_table_names_its_columns_in_every_cell_and_attributes_are_escaped() {
        let mut html = Html::default();
        html.table(&["id", "state"], |rows| {
            rows.row(|row| {
                row.cell("<1>").cell_with(|html| {
                    html.raw("<b").attr("title", "\"x\"").raw(">y</b>");
                });
            });
        });
        assert_eq!(
            html.finish(),
            "<table>\n<thead><tr><th scope=\"col\">id</th><th scope=\"col\">state</th></tr></thead>\n\
             <tbody>\n<tr><td data-label=\"id\">&lt;1&gt;</td>\
             <td data-label=\"state\"><b title=\"&quot;x&quot;\">y</b></td></tr>\n</tbody>\n</table>\n"
        );
        let mut empty = Html::default();
        empty.table(&["id"], |_| {});
        assert_eq!(empty.finish(), "<p>none</p>\n");
    }

    #[test]
    fn long_things_are_cut_and_say_so() {
        assert_eq!(clip("héllo", 5), "héllo");
        assert_eq!(clip("héllo", 2), "hé…");
        assert_eq!(newest(&[1, 2, 3], 2), (&[2, 3][..], 1));
        assert_eq!(newest(&[1], 2), (&[1][..], 0));
    }
}
