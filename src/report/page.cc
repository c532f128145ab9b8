// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/page_script.h"
#include "report/page_style.h"
#include "report/plot_look.h"

namespace wharf::report {
namespace {

using Json = nlohmann::ordered_json;

std::string_view word_of(PlotKind kind) {
  switch (kind) {
    case PlotKind::kLines:
      return "lines";
    case PlotKind::kBars:
      return "bars";
    case PlotKind::kStackedBars:
      return "stacked";
  }
  return "lines";
}

/// The numbers of a plot for the script of the page. No `<` is in it, so it ends no element.
std::string data_of(const Plot& plot) {
  Json series = Json::array();
  const std::vector<std::size_t> colours = colours_of(plot);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& each = plot.series[i];
    Json points = Json::array();
    for (const Series::Point& point : each.points) {
      const Json y = std::isfinite(point.y) ? Json(point.y) : Json();
      points.push_back(plot.kind == PlotKind::kLines ? Json{point.x, y} : Json{point.label, y});
    }
    series.push_back({{"name", each.name},
                      {"colour", kColours[colours[i]]},
                      {"published", each.published},
                      {"points", std::move(points)}});
  }
  const Json data{{"kind", word_of(plot.kind)},
                  {"x", plot.x_title},
                  {"y", plot.y_title},
                  {"xlog", x_axis(plot).logarithmic},
                  {"ylog", y_axis(plot).logarithmic},
                  {"series", std::move(series)}};
  std::string text;
  for (const char c : data.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

bool is_good(std::string_view word) { return word == "pass" || word == "yes" || word == "holds"; }

bool is_blank(std::string_view text) { return text.find_first_not_of(" \n") == std::string_view::npos; }

}  // namespace

std::string html_text(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string with_ids_of(std::string_view svg, std::string_view prefix) {
  std::string out;
  out.reserve(svg.size() + svg.size() / 16);
  bool in_tag = false;
  while (!svg.empty()) {
    std::size_t taken = 1;
    bool names = false;
    if (svg.front() == '<') in_tag = true;
    if (svg.front() == '>') in_tag = false;
    if (in_tag) {
      for (const std::string_view before :
           {" id=\"", " id='", "href=\"#", "href='#", "url(#", "url('#", "url(\"#"}) {
        if (!svg.starts_with(before)) continue;
        taken = before.size();
        names = true;
        break;
      }
    }
    out += svg.substr(0, taken);
    if (names) out += prefix;
    svg.remove_prefix(taken);
  }
  return out;
}

Page::Page(std::string_view title) : title_(title) { body_ = fmt::format("<h1>{}</h1>\n", html_text(title)); }

void Page::section(std::string_view title, std::string_view anchor, std::string_view code) {
  const std::string id = anchor.empty() ? "" : fmt::format(" id=\"{}\"", html_text(anchor));
  const std::string word = code.empty() ? "" : fmt::format(" <code>{}</code>", html_text(code));
  body_ += fmt::format("<h2{}>{}{}</h2>\n", id, html_text(title), word);
}

void Page::subsection(std::string_view title) { body_ += fmt::format("<h3>{}</h3>\n", html_text(title)); }

void Page::sentence(std::string_view text) { body_ += fmt::format("<p>{}</p>\n", html_text(text)); }

void Page::remark(std::string_view text) {
  body_ += fmt::format("<p class=\"quiet\">{}</p>\n", html_text(text));
}

void Page::verdict(bool good, std::string_view word, std::string_view why) {
  body_ += fmt::format("<p><span class=\"{}\">{}</span>{}{}</p>\n", good ? "pass" : "fail", html_text(word),
                       why.empty() ? "" : " ", html_text(why));
}

void Page::facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  body_ += "<dl>\n";
  for (const auto& [name, value] : facts) {
    if (!value.empty())
      body_ += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html_text(name), html_text(value));
  }
  body_ += "</dl>\n";
}

void Page::table(const TextTable& table, std::optional<std::size_t> verdicts) {
  const auto side = [&table](std::size_t column) {
    return table.columns()[column].align == Align::kRight ? " class=\"number\"" : "";
  };
  body_ += "<div class=\"scroll\"><table><thead><tr>";
  for (std::size_t i = 0; i < table.columns().size(); ++i)
    body_ += fmt::format("<th{}>{}</th>", side(i), html_text(table.columns()[i].title));
  body_ += "</tr></thead><tbody>\n";
  for (const std::vector<std::string>& row : table.rows()) {
    if (row.empty()) continue;
    body_ += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool judged = verdicts && *verdicts == i && !row[i].empty();
      const std::string look =
          judged ? fmt::format(" class=\"{}\"", is_good(row[i]) ? "pass" : "fail") : std::string(side(i));
      body_ += fmt::format("<td{}>{}</td>", look, html_text(row[i]));
    }
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
}

void Page::parts(const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    if (const TextTable* const shown = std::get_if<TextTable>(&part)) {
      table(*shown);
    } else if (const std::string& text = std::get<std::string>(part); !is_blank(text)) {
      sentence(text);
    }
  }
}

void Page::lines(std::string_view text) { body_ += fmt::format("<pre>{}</pre>\n", html_text(text)); }

void Page::begin_details(std::string_view summary, bool open) {
  body_ += fmt::format("<details{}><summary>{}</summary>\n", open ? " open" : "", html_text(summary));
}

void Page::end_details() { body_ += "</details>\n"; }

void Page::links(const std::vector<Link>& links) {
  body_ += "<nav><ul>\n";
  for (const Link& link : links) {
    body_ +=
        fmt::format("<li><a href=\"#{}\">{}</a> <span class=\"{}\">{}</span></li>\n", html_text(link.anchor),
                    html_text(link.title), link.good ? "pass" : "fail", link.good ? "holds" : "fails");
  }
  body_ += "</ul></nav>\n";
}

void Page::bars(const std::vector<BarRow>& rows, double whole, std::string_view unit) {
  if (whole <= 0) return;
  body_ += "<div class=\"bars\">\n";
  for (const BarRow& row : rows) {
    body_ +=
        fmt::format("<div class=\"row\" title=\"{}\"><span class=\"name\">{}</span><span class=\"line\">",
                    html_text(row.meaning), html_text(row.name));
    for (const Bar& bar : row.bars) {
      body_ += fmt::format(
          "<i class=\"{}\" style=\"left:{:.3f}%;width:{:.3f}%\" title=\"{}\"></i>",
          bar.strong ? "strong" : "pale", 100 * bar.begin / whole, 100 * (bar.end - bar.begin) / whole,
          html_text(fmt::format("{}: {:.1f} to {:.1f} {}", row.name, bar.begin, bar.end, unit)));
    }
    body_ += fmt::format("</span><span class=\"value\">{}</span></div>\n", html_text(row.value));
  }
  body_ += "</div>\n";
}

void Page::plot(const Plot& plot, std::string_view drawing) {
  if (plot.series.empty()) return;
  body_ += fmt::format("<figure class=\"plot\"><figcaption>{}</figcaption>\n", html_text(plot.title));
  if (drawing.empty()) {
    body_ += fmt::format(
        "<p class=\"quiet\">Plot \"{}\" is not drawn: gnuplot is missing. The script of this page draws "
        "it.</p>\n",
        html_text(plot.title));
  } else {
    body_ += fmt::format("<div class=\"drawing\">{}</div>\n",
                         with_ids_of(drawing, fmt::format("plot{}-", ++plots_)));
  }
  body_ += fmt::format("<script type=\"application/json\">{}</script>\n</figure>\n", data_of(plot));
}

std::string Page::html(std::string_view made_by) const {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>wharf: {}</title>\n<style>{}</style></head><body><main>\n{}<footer>{}</footer>\n</main>\n"
      "<script>{}</script></body></html>\n",
      html_text(title_), kPageStyle, body_, html_text(made_by), kPageScript);
}

}  // namespace wharf::report
