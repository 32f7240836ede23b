/** The worker that lays graphs out, so that the page stays responsive. */
import { LayoutDesk, type LayoutQuestion } from "../../../ui/graph-layout/layout";

const desk = new LayoutDesk((answer) => {
  postMessage(answer);
});

addEventListener("message", (event: MessageEvent<LayoutQuestion>) => {
  desk.ask(event.data);
});
