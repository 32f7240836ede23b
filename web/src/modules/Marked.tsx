/** A text in which the words that are searched for are marked. Where it is too long, its end stays. */
import { query } from "./finding";
import { markWords, splitTail, type Part } from "./marking";

export function Marked({ text }: { text: string }) {
  const [head, tail] = splitTail(markWords(text, query.value));
  return (
    <span class="marked" title={text}>
      {head.length > 0 && (
        <span class="clip">
          <Parts parts={head} />
        </span>
      )}
      <span class="tail">
        <Parts parts={tail} />
      </span>
    </span>
  );
}

function Parts({ parts }: { parts: readonly Part[] }) {
  return (
    <>
      {parts.map(({ text, isMarked }, at) =>
        isMarked ? <mark key={at}>{text}</mark> : <span key={at}>{text}</span>,
      )}
    </>
  );
}
