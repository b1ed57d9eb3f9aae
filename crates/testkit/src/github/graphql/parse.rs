//! Parses the GraphQL documents that clients of GitHub send.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A document: one operation and its fragments.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) is_mutation: bool,
    pub(super) selection: Vec<Selection>,
    pub(super) fragments: BTreeMap<String, Fragment>,
    /// Variables that have a default.
    pub(super) defaults: Map<String, Value>,
}

#[derive(Clone, Debug)]
pub(super) struct Fragment {
    pub(super) on: String,
    pub(super) selection: Vec<Selection>,
}

#[derive(Clone, Debug)]
pub(super) enum Selection {
    Field(Field),
    Spread(String),
    Inline(Option<String>, Vec<Selection>),
}

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) alias: String,
    pub(super) name: String,
    pub(super) arguments: Vec<(String, Argument)>,
    pub(super) selection: Vec<Selection>,
}

#[derive(Clone, Debug)]
pub(super) enum Argument {
    Variable(String),
    Literal(Value),
    List(Vec<Argument>),
    Object(Vec<(String, Argument)>),
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Mark(char),
    Spread,
    Name(String),
    Number(i64),
    Text(String),
}

/// Parses a document.
pub(super) fn parse(text: &str) -> Result<Document, String> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens, at: 0 };
    parser.document()
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let chars: Vec<char> = text.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let taken = match c {
            ' ' | '\t' | '\n' | '\r' | ',' => 1,
            '#' => chars[at..].iter().take_while(|c| **c != '\n').count(),
            '"' => {
                let (token, taken) = string(&chars[at..])?;
                out.push(token);
                taken
            }
            '.' => {
                out.push(Token::Spread);
                3
            }
            '-' | '0'..='9' => {
                let word: String = chars[at..]
                    .iter()
                    .take_while(|c| c.is_ascii_digit() || **c == '-')
                    .collect();
                out.push(Token::Number(word.parse().map_err(|_| "bad number")?));
                word.len()
            }
            _ if c.is_ascii_alphabetic() || c == '_' => {
                let word: String = chars[at..]
                    .iter()
                    .take_while(|c| c.is_ascii_alphanumeric() || **c == '_')
                    .collect();
                let taken = word.len();
                out.push(Token::Name(word));
                taken
            }
            _ => {
                out.push(Token::Mark(c));
                1
            }
        };
        at += taken;
    }
    Ok(out)
}

fn string(chars: &[char]) -> Result<(Token, usize), String> {
    let mut escaped = false;
    for (i, c) in chars.iter().enumerate().skip(1) {
        if *c == '"' && !escaped {
            let literal: String = chars[..=i].iter().collect();
            let text = serde_json::from_str(&literal).map_err(|error| error.to_string())?;
            return Ok((Token::Text(text), i + 1));
        }
        escaped = *c == '\\' && !escaped;
    }
    Err("a string does not end".to_owned())
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn document(&mut self) -> Result<Document, String> {
        let mut document = Document {
            is_mutation: false,
            selection: Vec::new(),
            fragments: BTreeMap::new(),
            defaults: Map::new(),
        };
        while let Some(token) = self.peek().cloned() {
            match &token {
                Token::Name(word) if word == "fragment" => {
                    self.at += 1;
                    let name = self.name()?;
                    self.expect_name("on")?;
                    let on = self.name()?;
                    let selection = self.selection()?;
                    document.fragments.insert(name, Fragment { on, selection });
                }
                Token::Name(word) if word == "query" || word == "mutation" => {
                    self.at += 1;
                    document.is_mutation = word == "mutation";
                    if matches!(self.peek(), Some(Token::Name(_))) {
                        self.at += 1;
                    }
                    document.defaults = self.variables()?;
                    document.selection = self.selection()?;
                }
                Token::Mark('{') => document.selection = self.selection()?,
                Token::Mark(_)
                | Token::Spread
                | Token::Name(_)
                | Token::Number(_)
                | Token::Text(_) => return Err(format!("unexpected {token:?}")),
            }
        }
        Ok(document)
    }

    /// Declarations; only the defaults matter here.
    fn variables(&mut self) -> Result<Map<String, Value>, String> {
        let mut defaults = Map::new();
        if !self.take('(') {
            return Ok(defaults);
        }
        while !self.take(')') {
            self.expect('$')?;
            let name = self.name()?;
            self.expect(':')?;
            while self.take('[') {}
            self.name()?;
            while self.take('!') || self.take(']') {}
            if self.take('=')
                && let Argument::Literal(value) = self.argument()?
            {
                defaults.insert(name, value);
            }
        }
        Ok(defaults)
    }

    fn selection(&mut self) -> Result<Vec<Selection>, String> {
        self.expect('{')?;
        let mut out = Vec::new();
        while !self.take('}') {
            out.push(self.selected()?);
        }
        Ok(out)
    }

    fn selected(&mut self) -> Result<Selection, String> {
        if self.peek() == Some(&Token::Spread) {
            self.at += 1;
            return match self.peek().cloned() {
                Some(Token::Name(word)) if word == "on" => {
                    self.at += 1;
                    let on = self.name()?;
                    Ok(Selection::Inline(Some(on), self.selection()?))
                }
                Some(Token::Name(name)) => {
                    self.at += 1;
                    Ok(Selection::Spread(name))
                }
                _ => Ok(Selection::Inline(None, self.selection()?)),
            };
        }
        let first = self.name()?;
        let (alias, name) = if self.take(':') {
            (first, self.name()?)
        } else {
            (first.clone(), first)
        };
        let arguments = if self.take('(') {
            self.pairs(')')?
        } else {
            Vec::new()
        };
        let selection = if self.peek() == Some(&Token::Mark('{')) {
            self.selection()?
        } else {
            Vec::new()
        };
        Ok(Selection::Field(Field {
            alias,
            name,
            arguments,
            selection,
        }))
    }

    fn pairs(&mut self, end: char) -> Result<Vec<(String, Argument)>, String> {
        let mut out = Vec::new();
        while !self.take(end) {
            let name = self.name()?;
            self.expect(':')?;
            out.push((name, self.argument()?));
        }
        Ok(out)
    }

    fn argument(&mut self) -> Result<Argument, String> {
        let token = self.peek().cloned().ok_or("the document ends early")?;
        self.at += 1;
        Ok(match token {
            Token::Mark('$') => Argument::Variable(self.name()?),
            Token::Mark('[') => {
                let mut items = Vec::new();
                while !self.take(']') {
                    items.push(self.argument()?);
                }
                Argument::List(items)
            }
            Token::Mark('{') => Argument::Object(self.pairs('}')?),
            Token::Number(number) => Argument::Literal(json!(number)),
            Token::Text(text) => Argument::Literal(json!(text)),
            Token::Name(word) => Argument::Literal(match word.as_str() {
                "true" => json!(true),
                "false" => json!(false),
                "null" => Value::Null,
                _ => json!(word),
            }),
            Token::Mark(_) | Token::Spread => return Err(format!("unexpected {token:?}")),
        })
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn take(&mut self, mark: char) -> bool {
        let taken = self.peek() == Some(&Token::Mark(mark));
        self.at += usize::from(taken);
        taken
    }

    fn expect(&mut self, mark: char) -> Result<(), String> {
        if self.take(mark) {
            Ok(())
        } else {
            Err(format!("expected `{mark}`, found {:?}", self.peek()))
        }
    }

    fn name(&mut self) -> Result<String, String> {
        match self.peek().cloned() {
            Some(Token::Name(name)) => {
                self.at += 1;
                Ok(name)
            }
            other => Err(format!("expected a name, found {other:?}")),
        }
    }

    fn expect_name(&mut self, word: &str) -> Result<(), String> {
        let name = self.name()?;
        if name == word {
            Ok(())
        } else {
            Err(format!("expected `{word}`, found `{name}`"))
        }
    }
}
