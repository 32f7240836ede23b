/** Markdown as elements. All text in it goes in as text, HTML too, and no address is ever opened. */
import { Lexer, type MarkedToken, type Token, type Tokens } from "marked";
import type { ComponentChild } from "preact";
import { useMemo } from "preact/hooks";

/** What is nested deeper stands there as it was written. */
const MAX_DEPTH = 12;

export function Markdown({ source }: { source: string }) {
  const shown = useMemo(() => showAll(tokensOf(source), 0), [source]);
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

function showAll(tokens: readonly Token[], depth: number): ComponentChild[] {
  return tokens.map((token, key) => show(token as MarkedToken, key, depth));
}

function show(token: MarkedToken, key: number, depth: number): ComponentChild {
  const inside = (): ComponentChild[] => {
    const { tokens, raw } = token as Tokens.Generic;
    return tokens === undefined || depth >= MAX_DEPTH ? [raw] : showAll(tokens, depth + 1);
  };
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      // Below the headings of the page itself.
      return (
        <div key={key} class={`md-h md-h${token.depth}`} role="heading" aria-level={Math.min(6, token.depth + 3)}>
          {inside()}
        </div>
      );
    case "paragraph":
      return <p key={key}>{inside()}</p>;
    case "html":
      return token.block ? <p key={key}>{token.raw}</p> : token.raw;
    case "code":
      return (
        <pre key={key} class="snippet">
          {token.text}
        </pre>
      );
    case "blockquote":
      return <blockquote key={key}>{inside()}</blockquote>;
    case "hr":
      return <hr key={key} />;
    case "list":
      return depth >= MAX_DEPTH ? token.raw : showList(token, key, depth);
    case "table":
      return showTable(token, key, depth);
    case "text":
      return token.tokens === undefined ? token.text : inside();
    case "escape":
      return token.text;
    case "codespan":
      return <code key={key}>{token.text}</code>;
    case "strong":
      return <b key={key}>{inside()}</b>;
    case "em":
      return <em key={key}>{inside()}</em>;
    case "del":
      return <s key={key}>{inside()}</s>;
    case "br":
      return <br key={key} />;
    case "link":
    case "image":
      // An address that was written by itself says all.
      if (token.raw === token.text) return token.text;
      return (
        <span key={key} class="md-link">
          {inside()} <span class="mono muted">({token.href})</span>
        </span>
      );
    default:
      return token.raw;
  }
}

function showList({ ordered, start, items }: Tokens.List, key: number, depth: number): ComponentChild {
  // A single paragraph stands in its item without the distance of paragraphs.
  const shown = items.map(({ tokens: [first, ...others] }, nth) => (
    <li key={nth}>
      {first?.type === "paragraph" ? showAll(first.tokens ?? [], depth + 1) : first !== undefined && showAll([first], depth + 1)}
      {showAll(others, depth + 1)}
    </li>
  ));
  return ordered ? (
    <ol key={key} start={Number(start)}>
      {shown}
    </ol>
  ) : (
    <ul key={key}>{shown}</ul>
  );
}

function showTable({ header, rows }: Tokens.Table, key: number, depth: number): ComponentChild {
  const cells = (row: readonly Tokens.TableCell[]): ComponentChild[] =>
    row.map(({ header: isHead, align, tokens }, column) => {
      const Cell = isHead ? "th" : "td";
      return (
        <Cell key={column} scope={isHead ? "col" : undefined} style={{ textAlign: align ?? "left" }}>
          {showAll(tokens, depth + 1)}
        </Cell>
      );
    });
  return (
    <table key={key} class="sec-table md-table">
      <thead>
        <tr>{cells(header)}</tr>
      </thead>
      <tbody>
        {rows.map((row, nth) => (
          <tr key={nth}>{cells(row)}</tr>
        ))}
      </tbody>
    </table>
  );
}
