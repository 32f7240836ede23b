/** What the colours mean, with their limits: one scale for values, one for gradients. */
import { formatValue } from "../../format";
import { Segments } from "../../shell/Segments";
import { isScaleShared, limits } from "../store";

const STEPS = Array.from({ length: 11 }, (_, step) => step);

export function ColourSection() {
  const { value, gradient } = limits.value;
  return (
    <div class="section">
      <div class="row">
        <h3>Colour</h3>
        <span class="grow" />
        <Segments
          label="Scale of the colours"
          words={[
            ["shared", "All alike", "One scale for all values, one for all gradients"],
            ["own", "Each tensor", "Each tensor up to its own largest"],
          ]}
          chosen={isScaleShared.value ? "shared" : "own"}
          choose={(word) => (isScaleShared.value = word === "shared")}
        />
      </div>
      <div class="ramp" aria-hidden="true">
        {STEPS.map((step) => (
          <i key={step} class={`d${step}`} />
        ))}
      </div>
      {isScaleShared.value ? (
        <>
          <Ends name="values" limit={value} />
          <Ends name="gradients" limit={gradient} />
        </>
      ) : (
        <div class="ramp-ends">
          <span>− its largest</span>
          <span class="middle">0</span>
          <span>its largest</span>
        </div>
      )}
    </div>
  );
}

function Ends({ name, limit }: { name: string; limit: number }) {
  return (
    <div class="ramp-ends">
      <span>≤ {formatValue(-limit, 3)}</span>
      <span class="middle">{name}</span>
      <span>≥ {formatValue(limit, 3)}</span>
    </div>
  );
}
