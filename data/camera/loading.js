// Says that a part of the page's scripts did not come; those themselves cannot.
"use strict";

addEventListener("error", ({ target }) => {
  if (target instanceof HTMLScriptElement) document.getElementById("said").textContent = "A part of this page did not load. Reload it.";
}, true);
