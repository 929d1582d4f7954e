// The page begins, as soon as it has the answers that it may carry.

import { render } from "preact";

import { App } from "./app";
import { follow, ready } from "./ask";

const root = document.getElementById("page");
if (root !== null) {
  ready().then(
    () => {
      follow();
      render(<App />, root);
    },
    (error: Error) => {
      root.textContent = `This browser cannot unpack the page (${error.message}). \`profundo view FILE\` opens the recording itself.`;
    },
  );
}
