"use strict";
(() => {
  const seek = document.getElementById("seek");
  const shown = (article, wanted) =>
    wanted.every((word) => article.dataset.words.includes(word));
  const update = () => {
    const wanted = seek.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const article of document.querySelectorAll("article")) {
      const hide = !shown(article, wanted);
      article.hidden = hide;
      document.querySelector(`tr[data-of="${article.id}"]`).hidden = hide;
    }
    for (const heading of document.querySelectorAll("h2.group")) {
      let next = heading.nextElementSibling;
      let any = false;
      while (next && next.tagName === "ARTICLE") {
        any = any || !next.hidden;
        next = next.nextElementSibling;
      }
      heading.hidden = !any;
    }
  };
  seek.addEventListener("input", update);
  update();
})();
