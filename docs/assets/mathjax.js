// Formulas are short TeX between \( \) and \[ \]; without MathJax they read as TeX.
window.MathJax = {
  tex: { inlineMath: [["\\(", "\\)"]], displayMath: [["\\[", "\\]"]] },
  options: { ignoreHtmlClass: ".*|", processHtmlClass: "arithmatex" },
};
