// The page begins.

import { render } from "preact";

import { App } from "./app";
import { follow } from "./ask";

follow();
const root = document.getElementById("page");
if (root !== null) {
  render(<App />, root);
}
