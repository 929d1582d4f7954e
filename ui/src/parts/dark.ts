// Whether the page is dark: by the reader's choice, else by the system's.

import { useEffect, useState } from "preact/hooks";

const query = matchMedia("(prefers-color-scheme: dark)");

function isDarkNow(): boolean {
  const theme = document.documentElement.dataset.theme;
  return theme === "dark" || (theme !== "light" && query.matches);
}

export function useDark(): boolean {
  const [isDark, setDark] = useState(isDarkNow);
  useEffect(() => {
    const look = () => setDark(isDarkNow());
    query.addEventListener("change", look);
    const observer = new MutationObserver(look);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    look();
    return () => {
      query.removeEventListener("change", look);
      observer.disconnect();
    };
  }, []);
  return isDark;
}
