/** A tree of Markdown as elements. All text in it goes in as text, and no address is ever opened. */
import type { ComponentChild } from "preact";
import { useMemo } from "preact/hooks";
import type { Inline } from "./inlines";
import { parseMarkdown, type Block } from "./markdown";

export function Markdown({ source }: { source: string }) {
  const blocks = useMemo(() => parseMarkdown(source), [source]);
  return <div class="sec-markdown">{blocks.map(showBlock)}</div>;
}

function showBlock(block: Block, key: number): ComponentChild {
  switch (block.kind) {
    case "heading":
      // Below the headings of the page itself.
      return (
        <div
          key={key}
          class={`md-h md-h${block.level}`}
          role="heading"
          aria-level={Math.min(6, block.level + 3)}
        >
          {showInlines(block.inside)}
        </div>
      );
    case "paragraph":
      return <p key={key}>{showInlines(block.inside)}</p>;
    case "code":
      return (
        <pre key={key} class="snippet">
          {block.text}
        </pre>
      );
    case "quote":
      return <blockquote key={key}>{block.blocks.map(showBlock)}</blockquote>;
    case "rule":
      return <hr key={key} />;
    case "list":
      return block.isOrdered ? (
        <ol key={key} start={block.start}>
          {block.items.map(showItem)}
        </ol>
      ) : (
        <ul key={key}>{block.items.map(showItem)}</ul>
      );
    case "table":
      return showTable(block, key);
  }
}

/** A single paragraph stands in its item without the distance of paragraphs. */
function showItem(blocks: readonly Block[], key: number): ComponentChild {
  return (
    <li key={key}>
      {blocks.map((block, nth) =>
        block.kind === "paragraph" && nth === 0 ? showInlines(block.inside) : showBlock(block, nth),
      )}
    </li>
  );
}

function showTable({ aligns, rows }: Extract<Block, { kind: "table" }>, key: number): ComponentChild {
  const [head = [], ...body] = rows;
  return (
    <table key={key} class="sec-table md-table">
      <thead>
        <tr>
          {head.map((cell, column) => (
            <th key={column} scope="col" style={{ textAlign: aligns[column] }}>
              {showInlines(cell)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {body.map((row, nth) => (
          <tr key={nth}>
            {row.map((cell, column) => (
              <td key={column} style={{ textAlign: aligns[column] }}>
                {showInlines(cell)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function showInlines(inlines: readonly Inline[]): ComponentChild[] {
  return inlines.map((inline, key): ComponentChild => {
    switch (inline.kind) {
      case "text":
        return inline.text;
      case "code":
        return <code key={key}>{inline.text}</code>;
      case "strong":
        return <b key={key}>{showInlines(inline.inside)}</b>;
      case "emphasis":
        return <em key={key}>{showInlines(inline.inside)}</em>;
      case "struck":
        return <s key={key}>{showInlines(inline.inside)}</s>;
      case "break":
        return <br key={key} />;
      case "link":
        return (
          <span key={key} class="md-link">
            {showInlines(inline.inside)} <span class="mono muted">({inline.address})</span>
          </span>
        );
    }
  });
}
