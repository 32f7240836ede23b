/** The lines of the expression, with the one that the step is about, and the one that is wrong. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Lesson } from "../../wire";
import { currentLine } from "../store";

export function CodeLines({ lesson }: { lesson: Lesson }) {
  const box = useRef<HTMLDivElement>(null);
  const now = currentLine.value;
  useLayoutEffect(() => {
    box.current?.querySelector(".on")?.scrollIntoView({ block: "nearest" });
  }, [now]);
  const { lines, first_line, fault } = lesson;
  const last = lines.findLastIndex((line) => line.trim() !== "");
  return (
    <div class="code" ref={box} tabIndex={0} role="region" aria-label="Lines of the expression">
      {fault?.line === 0 && <FaultText message={fault.message} />}
      {lines.slice(0, last + 1).map((line, at) => {
        const number = first_line + at;
        const isBad = fault?.line === number;
        return (
          <div key={at}>
            <div
              class={`code-line ${number === now ? "on" : ""} ${isBad ? "bad" : ""}`}
              aria-current={number === now ? "step" : undefined}
            >
              <span class="line-no">{number}</span>
              <span>{line === "" ? " " : line}</span>
            </div>
            {isBad && <FaultText message={fault.message} />}
          </div>
        );
      })}
    </div>
  );
}

function FaultText({ message }: { message: string }) {
  return (
    <p class="code-fault" role="alert">
      {message}
    </p>
  );
}
