/** Where no expression is chosen yet: all examples, each with what it shows. */
import { Blank } from "../shell/Blank";
import { chooseExample, tryCatalogueAgain } from "./lessons";
import * as store from "./store";
import { whyNotAsk } from "./wording";

export function ExamplePicker() {
  const all = store.catalogue.value;
  if (all === null) return store.catalogueFailure.value === "" ? <Waiting /> : <Failed />;
  return (
    <div class="example-picker" aria-label="Examples" role="region">
      <h2>Choose an example</h2>
      <p class="dim">Step through it forward and back, and see where each gradient comes from. Edit makes it yours.</p>
      <ol>
        {all.examples.map((example, at) => (
          <li key={example.id}>
            <button
              class="example-card"
              aria-disabled={whyNotAsk() !== ""}
              title={whyNotAsk() || undefined}
              onClick={() => {
                if (whyNotAsk() === "") chooseExample(example);
              }}
            >
              <span class="line-no">{at + 1}</span>
              <b>{example.title}</b>
              <span class="dim">{example.about}</span>
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}

function Waiting() {
  return (
    <div class="blank late" aria-busy="true">
      <b>Asking for the examples</b>
      <div class="bar moving" role="progressbar" aria-label="Asking for the examples">
        <i />
      </div>
    </div>
  );
}

function Failed() {
  return (
    <Blank icon="warning" title="The examples cannot be read" isError>
      <span>{store.catalogueFailure.value}</span>
      <button class="btn" onClick={tryCatalogueAgain}>
        Try again
      </button>
    </Blank>
  );
}
