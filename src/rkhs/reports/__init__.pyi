from rkhs.reports.report import Report as Report, make_report as make_report
