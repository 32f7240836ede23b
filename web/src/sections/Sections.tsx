/** What the chosen runs hold besides scalars: distributions, evaluation, pictures, sound, text. */
import { Distributions, distributionNames } from "./distributions/Distributions";
import { Evaluation } from "./evaluation/Evaluation";
import { Audio } from "./media/Audio";
import { Images } from "./media/Images";
import { Videos } from "./media/Videos";
import { holdersOf, shownNames } from "./series";
import { Texts } from "./text/Texts";
import "./sections.css";

export function Sections() {
  return (
    <div class="sections">
      <div class={isSideBySide() ? "sec-halves" : undefined}>
        <Distributions />
        <Evaluation />
      </div>
      <Images />
      <Videos />
      <Audio />
      <Texts />
    </div>
  );
}

const MAX_BESIDE = 2;

/** A few of each stand beside each other; where there are more, each kind takes the whole width. */
function isSideBySide(): boolean {
  const [numDistributions, curves] = [distributionNames().length, shownNames("pr_curve")];
  const matrices = shownNames("confusion").flatMap((name) => holdersOf("confusion", name));
  if (numDistributions === 0 || curves.length + matrices.length === 0) return false;
  return numDistributions <= MAX_BESIDE && curves.length <= 1 && matrices.length <= MAX_BESIDE;
}
