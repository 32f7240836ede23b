/** Markdown as elements. All text in it goes in as text, HTML too, and no address is ever opened. */
import { Lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { type ComponentChild, Fragment } from "preact";
import { useMemo } from "preact/hooks";

/** What is nested deeper stands there as it was written. */
const MAX_DEPTH = 12;

export function Markdown({ source }: { source: string }) {
  const shown = useMemo(() => showerAt(0)(tokensOf(source)), [source]);
  return <div class="sec-markdown">{shown}</div>;
}

function tokensOf(source: string): readonly Token[] {
  try {
    return new Lexer().lex(source);
  } catch {
    // Text that was made to be deep goes beyond the stack: it is shown as it is.
    return [{ type: "text", raw: source, text: source }];
  }
}

type Shower = (tokens: readonly Token[]) => ComponentChild;
type Of<Type extends MarkedToken["type"]> = Extract<MarkedToken, { type: Type }>;

function showerAt(depth: number): Shower {
  return (tokens) =>
    tokens.map((token, key) => {
      const show = depth > MAX_DEPTH ? undefined : SHOWN[(token as MarkedToken).type];
      const shown = show === undefined ? token.raw : (show as (token: Token, inside: Shower) => ComponentChild)(token, showerAt(depth + 1));
      return <Fragment key={key}>{shown}</Fragment>;
    });
}

/** One entry for each kind of token; what has none is shown as it was written. */
const SHOWN: { readonly [Type in MarkedToken["type"]]?: (token: Of<Type>, inside: Shower) => ComponentChild } = {
  space: () => null,
  def: () => null,
  heading: ({ depth, tokens }, inside) => (
    // Below the headings of the page itself.
    <div class={`md-h md-h${depth}`} role="heading" aria-level={Math.min(6, depth + 3)}>
      {inside(tokens)}
    </div>
  ),
  paragraph: ({ tokens }, inside) => <p>{inside(tokens)}</p>,
  html: ({ block, raw }) => (block ? <p>{raw}</p> : raw),
  code: ({ text }) => <pre class="snippet">{text}</pre>,
  blockquote: ({ tokens }, inside) => <blockquote>{inside(tokens)}</blockquote>,
  hr: () => <hr />,
  list: ({ ordered, start, items }, inside) => {
    const shown = items.map((item, key) => <Fragment key={key}>{inside([item])}</Fragment>);
    return ordered ? <ol start={Number(start)}>{shown}</ol> : <ul>{shown}</ul>;
  },
  list_item: ({ tokens: [first, ...others] }, inside) => (
    <li>
      {/* A paragraph at its beginning stands in it without the distance of paragraphs. */}
      {first !== undefined && inside(first.type === "paragraph" ? (first.tokens ?? []) : [first])}
      {inside(others)}
    </li>
  ),
  table: ({ header, rows }, inside) => (
    <table class="sec-table md-table">
      <thead>
        <tr>{cellsOf(header, inside)}</tr>
      </thead>
      <tbody>
        {rows.map((row, key) => (
          <tr key={key}>{cellsOf(row, inside)}</tr>
        ))}
      </tbody>
    </table>
  ),
  text: ({ tokens, text }, inside) => (tokens === undefined ? text : inside(tokens)),
  escape: ({ text }) => text,
  codespan: ({ text }) => <code>{text}</code>,
  strong: ({ tokens }, inside) => <b>{inside(tokens)}</b>,
  em: ({ tokens }, inside) => <em>{inside(tokens)}</em>,
  del: ({ tokens }, inside) => <s>{inside(tokens)}</s>,
  br: () => <br />,
  link: showLink,
  image: showLink,
};

function showLink({ raw, text, href, tokens }: Tokens.Link | Tokens.Image, inside: Shower): ComponentChild {
  // An address that was written by itself says all.
  if (raw === text) return text;
  return (
    <span class="md-link">
      {inside(tokens)} <span class="mono muted">({href})</span>
    </span>
  );
}

function cellsOf(row: readonly Tokens.TableCell[], inside: Shower): ComponentChild {
  return row.map(({ header, align, tokens }, key) => {
    const Cell = header ? "th" : "td";
    return (
      <Cell key={key} scope={header ? "col" : undefined} style={{ textAlign: align ?? "left" }}>
        {inside(tokens)}
      </Cell>
    );
  });
}
