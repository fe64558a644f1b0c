// The search field: articles and rows of the overview whose losses have all of the words.

const seek = document.getElementById("seek");
seek.addEventListener("input", () => {
  const wanted = seek.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const article of document.querySelectorAll("article")) {
    article.hidden = !wanted.every((word) => article.dataset.words.includes(word));
    document.querySelector(`tr[data-of="${article.id}"]`).hidden = article.hidden;
  }
});
