// Whether the page is dark: by the reader's choice, or else by the system's.

import { useEffect, useState } from "preact/hooks";

export function useDark(): boolean {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const now = () => {
    const theme = document.documentElement.dataset.theme;
    return theme === "dark" || (theme !== "light" && query.matches);
  };
  const [isDark, setDark] = useState(now);
  useEffect(() => {
    const look = () => setDark(now());
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
