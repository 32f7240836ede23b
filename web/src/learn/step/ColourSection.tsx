/** What the colours mean, with their limits, which can be fixed: one scale for values, one for gradients. */
import { Segments } from "../../shell/Segments";
import { isScaleShared } from "../store";
import { ScaleEnd } from "./ScaleEnd";

const STEPS = Array.from({ length: 11 }, (_, step) => step);

export function ColourSection() {
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
          <ScaleEnd ink="value" name="values" />
          <ScaleEnd ink="gradient" name="gradients" />
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
