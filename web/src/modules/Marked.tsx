/** A text in which the words that are searched for are marked. Where it is too long, its end stays. */
import { query } from "./finding";
import { markWords } from "./marking";

export function Marked({ text }: { text: string }) {
  return (
    <bdi class="marked" title={text}>
      {markWords(text, query.value).map(({ text: part, isMarked }, at) =>
        isMarked ? <mark key={at}>{part}</mark> : <span key={at}>{part}</span>,
      )}
    </bdi>
  );
}
